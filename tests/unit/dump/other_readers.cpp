#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <string>

#include "dump/layout.hpp"
#include "tests/support/dump_builder.hpp"
#include "tests/support/training_dump.hpp"

using namespace ulpscope;
using test::DumpBuilder;
using test::TempDir;
using test::TrainingRun;

namespace {

struct Answer {
  int status = -1;
  std::string text;
};

Answer run(const std::string& command) {
  Answer answer;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> buffer{};
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    answer.text.append(buffer.data(), got);
  }
  answer.status = ::pclose(pipe);
  return answer;
}

std::string make_segment(const TempDir& dir) {
  DumpBuilder dump(dir.path());
  auto& lane = dump.lane();
  const std::string content = "0123456789abcdef";
  lane.messages.content(digest(std::as_bytes(std::span(content))),
                        std::as_bytes(std::span(content)));
  TrainingRun training(lane);
  training.step();
  training.step();
  dump.finish();
  return dump::segment_path(dump::rank_path(dir.path(), 0), 0).string();
}

}  // namespace

TEST_SUITE("other readers") {
#ifdef ULPSCOPE_H5DUMP
  TEST_CASE("h5dump reads a whole segment and names what it finds") {
    const TempDir dir;
    const auto answer = run(std::string(ULPSCOPE_H5DUMP) + " " + make_segment(dir));
    CHECK(answer.status == 0);
    for (const char* expected : {"\"first_position\"", "\"rng_before\"", "\"float32\"",
                                 "ulpscope-dump", "optimizer", "DATASET \"template_slots\""}) {
      CAPTURE(expected);
      CHECK(answer.text.find(expected) != std::string::npos);
    }
  }
#endif

#ifdef ULPSCOPE_PYTHON_WITH_H5PY
  TEST_CASE("h5py reads names, tables and contents") {
    const TempDir dir;
    const auto answer = run(std::string(ULPSCOPE_PYTHON_WITH_H5PY) + " -c '" + R"(
import h5py, sys
f = h5py.File(sys.argv[1], "r")
ends = f["strings/offsets"][:]
text = lambda i: bytes(f["strings/bytes"][ends[i-1]:ends[i]]).decode()
ops = [text(op["name"]) for op in f["ops"]]
print(ops[0], f.attrs["rank"], f["blocks"]["step"].tolist())
row = f["content/index"][0]
file = open(sys.argv[1], "rb")
file.seek(row["offset"])
print(file.read(row["bytes"]).decode(), bytes(f["content/bytes/0"][:]) == b"0123456789abcdef")
)" + "' " + make_segment(dir));
    CHECK(answer.status == 0);
    CHECK(answer.text == "aten::empty 0 [-1, 0, 1]\n0123456789abcdef True\n");
  }
#endif
}

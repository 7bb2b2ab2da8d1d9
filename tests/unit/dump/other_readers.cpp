#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <string>

#include "dump/layout.hpp"
#include "tests/support/dump_builder.hpp"
#include "tests/support/layer_dump.hpp"
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

constexpr Dtype kDtypes[] = {
    Dtype::uint8,     Dtype::int8,        Dtype::int16,           Dtype::int32,
    Dtype::int64,     Dtype::float16,     Dtype::float32,         Dtype::float64,
    Dtype::complex32, Dtype::complex64,   Dtype::complex128,      Dtype::bool_,
    Dtype::bfloat16,  Dtype::float8_e5m2, Dtype::float8_e4m3fn,   Dtype::float8_e5m2fnuz,
    Dtype::uint16,    Dtype::uint32,      Dtype::float8_e4m3fnuz, Dtype::uint64};

/// A segment with a module output of every dtype under its name, 48 bytes each: every byte
/// 37 i + 11, so NaNs with payloads are among them; bool is 0 and 1 in turn.
std::string make_layers(const TempDir& dir) {
  DumpBuilder dump(dir.path(), {.level = "full"});
  auto& lane = dump.lane();
  lane.op("aten::mm").root("Net").module("fc");
  for (const Dtype dtype : kDtypes) {
    test::Tensor tensor{dtype, {2, static_cast<std::int64_t>(24 / element_size(dtype))}, {}, {}};
    if (dtype == Dtype::complex128) tensor.sizes = {3};
    for (unsigned i = 0; i < 48; ++i)
      tensor.bytes.push_back(static_cast<std::byte>(dtype == Dtype::bool_ ? i & 1 : 37 * i + 11));
    auto& event = lane.add(EventKind::module, "Layer").root("Net").module(name(dtype));
    test::add_tensor(lane, event, Role::output, 0, tensor);
  }
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

  TEST_CASE("h5dump shows the values of layers as numbers") {
    const TempDir dir;
    DumpBuilder dump(dir.path());
    auto& lane = dump.lane();
    lane.op("aten::mm").root("Net").module("fc");
    auto& event = lane.add(EventKind::module, "Layer").root("Net").module("fc");
    test::add_tensor(lane, event, Role::output, 0, test::floats({1.5, -2, 0.25}));
    const std::vector<std::uint16_t> bits{0x3fc0, 0xc000, 0x3e80};
    test::add_tensor(lane, event, Role::output, 1, test::tensor(Dtype::bfloat16, {3}, bits));
    dump.finish();
    for (const char* output : {"output.0", "output.1"}) {
      const auto answer =
          run(std::string(ULPSCOPE_H5DUMP) + " -d /steps/000000/forward/fc/0/" + output + " " +
              dump::segment_path(dump::rank_path(dir.path(), 0), 0).string());
      CHECK(answer.status == 0);
      CHECK(answer.text.find("(0): 1.5, -2, 0.25") != std::string::npos);
    }
  }
#endif

#ifdef ULPSCOPE_PYTHON_WITH_H5PY
  TEST_CASE("h5py reads layers of every dtype bit for bit") {
    const TempDir dir;
    const auto answer = run(std::string(ULPSCOPE_PYTHON_WITH_H5PY) + " -c '" + R"(
import h5py, numpy, sys
f = h5py.File(sys.argv[1], "r")
raw = open(sys.argv[1], "rb").read()
layers = f["steps/000000/forward"]
pattern = bytes((37 * i + 11) & 255 for i in range(48))
for name in layers:
    data = layers[name]["0/output.0"]
    expected = bytes([0, 1] * 24) if name == "bool" else pattern
    at = data.id.get_offset()
    assert raw[at:at + 48] == expected, name
    assert data.attrs["dtype"].decode() == name
    numbers = data[()]
    if name == "bfloat16":
        bits = numpy.frombuffer(expected, numpy.uint16).astype(numpy.uint32) << 16
        wanted = bits.view(numpy.float32).reshape(numbers.shape)
        assert numbers.dtype == numpy.float32
        assert numpy.array_equal(numbers, wanted, equal_nan=True)
    else:
        assert numbers.tobytes() == expected, name
    if name.startswith("float8"):
        assert numbers.dtype == numpy.uint8
    elif name not in ("bfloat16", "complex32"):
        assert numbers.dtype.name == name, (numbers.dtype, name)
print(len(layers))
)" + "' " + make_layers(dir));
    CHECK(answer.status == 0);
    CHECK(answer.text == "20\n");
  }

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

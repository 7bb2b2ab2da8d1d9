#include "ulpscope/compare.hpp"

#include <memory>

#include "tests/fuzz/forged_segment.hpp"
#include "tests/fuzz/fuzzer.hpp"
#include "tests/fuzz/small_run.hpp"
#include "ulpscope/dump_reader.hpp"
#include "ulpscope/error.hpp"

namespace {

using namespace ulpscope;

struct Reference {
  Reference() {
    test::write_small_run(dir.path());
    run = open_dump(dir.path());
  }
  test::TempDir dir;
  std::unique_ptr<Run> run;
};

}  // namespace

// A valid run and one with arbitrary tables: shapes, references, positions, names.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Reference reference;
  static const test::ForgedDump dump;
  if (size == 0) return 0;
  dump.write(test::parts_of(test::fuzz_input(data + 1, size - 1)));
  CompareOptions options;
  options.budget = (data[0] & 1) != 0;
  options.by_layers = (data[0] & 2) != 0;
  if ((data[0] & 4) != 0) options.limits.max_ulp = 4;
  try {
    const auto run = open_dump(dump.path());
    static_cast<void>(compare(*reference.run, *run, options));
    static_cast<void>(compare(*run, *reference.run, options));
  } catch (const Error&) {
    // Refused, or damaged where it was read.
  }
  return 0;
}

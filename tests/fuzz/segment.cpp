#include "tests/fuzz/forged_segment.hpp"
#include "tests/fuzz/fuzzer.hpp"
#include "tests/fuzz/read_everything.hpp"
#include "ulpscope/dump_reader.hpp"
#include "ulpscope/error.hpp"

// Tables, names, variables and contents of a segment, with correct digests.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ulpscope;
  static const test::ForgedDump dump;
  dump.write(test::parts_of(test::fuzz_input(data, size)));
  try {
    test::read_everything(*open_dump(dump.path()));
  } catch (const Error&) {
    // Refused, or damaged where it was read.
  }
  return 0;
}

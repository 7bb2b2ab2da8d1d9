#include <string>

#include "cli/inputs/module_map.hpp"
#include "cli/inputs/tolerance_file.hpp"
#include "dump/status.hpp"
#include "tests/fuzz/fuzzer.hpp"
#include "tests/support/dump_builder.hpp"
#include "ulpscope/error.hpp"

namespace {

using namespace ulpscope;

template <class Read>
void refused_at_most(const Read& read) {
  try {
    static_cast<void>(read());
  } catch (const Error&) {
    // Not such a file: reported in a sentence.
  }
}

}  // namespace

// Tolerances (TOML), names of modules and status.json, by the first byte.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const test::TempDir dir;
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 3) {
    case 0:
      refused_at_most([&] { return cli::parse_tolerance(text, "tolerance.toml"); });
      break;
    case 1:
      refused_at_most([&] { return cli::parse_module_map(text, "map"); });
      break;
    default:
      refused_at_most([&] { return dump::parse_status(text); });
  }
  return 0;
}

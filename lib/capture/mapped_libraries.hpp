#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ulpscope::capture {

struct MappedLibrary {
  std::string name;      ///< base name of its path; empty for the program itself
  std::string build_id;  ///< hexadecimal GNU build id; empty if it has none
  bool is_program = false;
};

/// The ELF objects mapped into this process, ours left out.
[[nodiscard]] std::vector<MappedLibrary> mapped_libraries();

/// How many objects have ever been mapped; grows with every one.
[[nodiscard]] std::uint64_t libraries_mapped();

}  // namespace ulpscope::capture

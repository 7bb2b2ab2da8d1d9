#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ulpscope::cli {

/// A stretch of code that is an inlined call of a member function.
struct InlinedRange {
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  Dwarf_Off call = 0;      ///< its entry in the debug information
  Dwarf_Off function = 0;  ///< that of the function whose code it is part of
  std::uint16_t depth = 0;
  std::uint32_t name = 0;  ///< index in UnitInlines::names
};

/// The inlined calls of one compilation unit. Of LibTorch's own members only those of modules; the
/// standard library's, and those whose mangled name cannot be told, are left out.
struct UnitInlines {
  std::vector<InlinedRange> ranges;
  std::vector<std::string> names;  ///< mangled, without parameters where the compiler noted none
};
[[nodiscard]] UnitInlines inlines_of(Dwarf_Die unit);

}  // namespace ulpscope::cli

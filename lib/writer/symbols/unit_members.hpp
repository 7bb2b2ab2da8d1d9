#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ulpscope::writer {

/// A stretch of code that is a member function, or an inlined call of one.
struct MemberRange {
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  Dwarf_Off entry = 0;      ///< in the debug information
  Dwarf_Off function = 0;   ///< that of the function whose code it is part of
  std::uint16_t depth = 0;  ///< 0: the function itself
  std::uint32_t name = 0;   ///< index in UnitMembers::names
};

/// The member functions in the code of one compilation unit. Of LibTorch's functions only those of
/// modules; the standard library's, and those whose mangled name is unknown, are left out.
struct UnitMembers {
  std::vector<MemberRange> ranges;
  std::vector<std::string> names;  ///< mangled, without parameters where the compiler noted none
};
[[nodiscard]] UnitMembers members_of(Dwarf_Die unit);

}  // namespace ulpscope::writer

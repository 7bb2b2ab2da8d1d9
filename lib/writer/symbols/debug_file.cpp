#include "writer/symbols/debug_file.hpp"

#include <dwarf.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

namespace ulpscope::writer {
namespace {

constexpr Dwfl_Callbacks kCallbacks{.find_elf = nullptr,
                                    .find_debuginfo = dwfl_build_id_find_debuginfo,
                                    .section_address = dwfl_offline_section_address,
                                    .debuginfo_path = nullptr};

}  // namespace

DebugFile::DebugFile(const std::string& path) {
  std::error_code ignored;  // a path comes from a program: opening a pipe would wait forever
  if (!std::filesystem::is_regular_file(path, ignored)) return;
  session_ = dwfl_begin(&kCallbacks);
  if (session_ == nullptr) return;
  module_ = dwfl_report_offline(session_, path.c_str(), path.c_str(), -1);
  dwfl_report_end(session_, nullptr, nullptr);
  if (module_ != nullptr && dwfl_module_getelf(module_, &bias_) == nullptr) module_ = nullptr;
}

DebugFile::~DebugFile() {
  if (session_ != nullptr) dwfl_end(session_);
}

/// libdwfl looks into .debug_aranges alone, which GCC writes and Clang does not: where that names
/// no unit, the ranges of the units themselves may.
std::optional<DebugFile::Unit> DebugFile::unit_at(Dwarf_Addr address) {
  if (module_ == nullptr) return std::nullopt;
  Dwarf_Addr bias = 0;
  if (const Dwarf_Die* const unit = dwfl_module_addrdie(module_, address, &bias))
    return Unit{*unit, bias};
  if (!ranges_are_read_) read_ranges();
  const Dwarf_Addr own = address - ranges_bias_;
  const auto after = std::ranges::upper_bound(ranges_, own, {}, &Range::begin);
  if (after == ranges_.begin() || std::prev(after)->end <= own) return std::nullopt;
  return Unit{std::prev(after)->unit, ranges_bias_};
}

void DebugFile::read_ranges() {
  ranges_are_read_ = true;
  Dwarf* const debug = dwfl_module_getdwarf(module_, &ranges_bias_);
  if (debug == nullptr) return;
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  Dwarf_Die split;
  std::uint8_t type = 0;
  while (dwarf_get_units(debug, unit, &unit, nullptr, &type, &die, &split) == 0)
    if (type == DW_UT_compile || type == DW_UT_partial)
      read_ranges(die);
    else if (type == DW_UT_skeleton && dwarf_tag(&split) != DW_TAG_invalid)
      read_ranges(split);
  std::ranges::sort(ranges_, {}, &Range::begin);
}

void DebugFile::read_ranges(Dwarf_Die unit) {
  Dwarf_Addr base = 0;
  Range range;
  range.unit = unit;
  for (std::ptrdiff_t next = 0;
       (next = dwarf_ranges(&unit, next, &base, &range.begin, &range.end)) > 0;)
    ranges_.push_back(range);
}

}  // namespace ulpscope::writer

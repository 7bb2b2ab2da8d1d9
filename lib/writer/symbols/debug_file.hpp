#pragma once

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ulpscope::writer {

/// One file with code, and its debug information: in the file, or beside it by build id. Never uses
/// the network.
class DebugFile {
 public:
  explicit DebugFile(const std::string& path);
  DebugFile(const DebugFile&) = delete;
  DebugFile& operator=(const DebugFile&) = delete;
  ~DebugFile();

  /// Null if it cannot be read.
  [[nodiscard]] Dwfl_Module* module() const noexcept { return module_; }
  /// The difference between the file's own addresses and those of libdwfl.
  [[nodiscard]] std::uint64_t bias() const noexcept { return bias_; }

  struct Unit {
    Dwarf_Die die{};
    Dwarf_Addr bias = 0;  ///< what the addresses of libdwfl are more than its own
  };
  /// The compilation unit whose code has an address, as libdwfl counts. Empty if none is known to.
  [[nodiscard]] std::optional<Unit> unit_at(Dwarf_Addr address);

 private:
  /// Addresses of a unit's code.
  struct Range {
    Dwarf_Addr begin = 0;
    Dwarf_Addr end = 0;
    Dwarf_Die unit{};
  };

  void read_ranges();
  void read_ranges(Dwarf_Die unit);

  Dwfl* session_ = nullptr;
  Dwfl_Module* module_ = nullptr;
  Dwarf_Addr bias_ = 0;
  bool ranges_are_read_ = false;
  std::vector<Range> ranges_;  ///< by where they begin
  Dwarf_Addr ranges_bias_ = 0;
};

}  // namespace ulpscope::writer

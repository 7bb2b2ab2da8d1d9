#pragma once

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <string>

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

 private:
  Dwfl* session_ = nullptr;
  Dwfl_Module* module_ = nullptr;
  Dwarf_Addr bias_ = 0;
};

}  // namespace ulpscope::writer

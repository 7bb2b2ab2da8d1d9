#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace ulpscope::cli {

/// The directory that holds the dumps of a check: run-1, run-2 ... At the end they are removed, and
/// the directory if nothing else is in it, unless they are kept.
class DumpFolder {
 public:
  /// @param wanted a directory that is empty or does not exist yet; empty: runs/NAME-N with the
  /// first free N.
  /// @throws Error with ErrorCode::io or usage.
  DumpFolder(const std::filesystem::path& wanted, const std::string& name);
  DumpFolder(const DumpFolder&) = delete;
  DumpFolder& operator=(const DumpFolder&) = delete;
  ~DumpFolder();

  [[nodiscard]] std::filesystem::path dump_of(std::size_t run) const;
  void remove(std::size_t run) const;
  /// What is there now stays.
  void keep() noexcept { kept_ = true; }

  /// Bytes of all dumps in it.
  [[nodiscard]] std::uint64_t bytes() const;
  /// Bytes that its file system has room for.
  [[nodiscard]] std::uint64_t room() const;

 private:
  std::filesystem::path path_;
  bool kept_ = false;
};

}  // namespace ulpscope::cli

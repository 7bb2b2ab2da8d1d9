#pragma once

#include <filesystem>

#include "ring/injection.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::cli {

/// The file of values that a recorded program's ops are given (ring/injection.hpp), for as long as
/// this lives.
class InjectionFile {
 public:
  /// @param run whose values they are.
  /// @throws Error with ErrorCode::usage if it has no bytes, or belongs to several processes.
  InjectionFile(const Run& run, ring::injection::At at);
  InjectionFile(const InjectionFile&) = delete;
  InjectionFile& operator=(const InjectionFile&) = delete;
  ~InjectionFile();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace ulpscope::cli

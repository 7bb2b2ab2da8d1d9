#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace ulpscope {

enum class ErrorCode : std::uint8_t {
  io,          ///< the file system or another system call failed
  not_a_dump,  ///< readable, but not one of ours
  version,     ///< written by a newer format or protocol
  incomplete,  ///< nothing was published before the recording ended
  corrupt,     ///< digests, sizes or offsets do not add up
  usage,       ///< the caller broke a documented precondition
};

/// The one exception type that leaves the library. what() is a full sentence for people, code()
/// is for programs, hint() is what the user can do about it, or empty.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message, std::string hint = {})
      : std::runtime_error(message), code_(code), hint_(std::move(hint)) {}

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }
  [[nodiscard]] std::string_view hint() const noexcept { return hint_; }

 private:
  ErrorCode code_;
  std::string hint_;
};

}  // namespace ulpscope

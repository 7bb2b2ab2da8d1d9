#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace ulpscope::dump {

struct VerifyResult {
  /// Sentences: damage in the order of ranks and segments, then what is missing or does not belong.
  std::vector<std::string> problems;
  std::string empty;           ///< why nothing was recorded, where nothing was
  std::string incomplete;      ///< why the recording is incomplete though valid
  std::uint32_t segments = 0;  ///< checked
  std::uint64_t events = 0;    ///< rebuilt from valid segments
  std::uint64_t contents = 0;  ///< whose bytes have their digest

  /// The existing part of a recording is as it was written.
  [[nodiscard]] bool sound() const noexcept { return problems.empty() && empty.empty(); }
};

/// Called with how many of how many bytes have been checked.
using VerifyProgress = std::function<void(std::uint64_t done, std::uint64_t all)>;

/// Reads every byte of a dump that means something: each segment's seal and root digest, every
/// block, every content, and whether segments and status.json are of one recording and all there.
/// Damage is a problem in the result, not an exception.
///
/// @throws Error: not_a_dump, io.
[[nodiscard]] VerifyResult verify(const std::filesystem::path& directory,
                                  const VerifyProgress& progress = {});

}  // namespace ulpscope::dump

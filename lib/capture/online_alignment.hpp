#pragma once

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <vector>

#include "capture/memory.hpp"

namespace ulpscope::capture {

/// Aligns a sequence with a reference that is known from the start, while its elements come: each
/// one is aligned, or not, when only those before it are known. The fewest elements of both are
/// left without a partner, as in an edit distance without substitutions (Levenshtein), within a
/// band around the best place so far.
class OnlineAlignment {
 public:
  /// @param reference signatures, in order
  explicit OnlineAlignment(std::pmr::vector<std::uint64_t> reference);

  /// The index in the reference that the next element is aligned with; empty if it has none.
  [[nodiscard]] std::optional<std::uint64_t> next(std::uint64_t signature);

 private:
  static constexpr std::uint64_t kReach = 256;  ///< of the band, to each side

  std::pmr::vector<std::uint64_t> reference_;
  std::pmr::vector<bool> taken_ = std::pmr::vector<bool>(&process_memory());  ///< of the reference
  std::uint64_t begin_ =
      0;  ///< the band's first place: how many elements of the reference are passed
  std::pmr::vector<std::uint64_t> costs_{&process_memory()};  ///< elements left alone, by place
  std::pmr::vector<std::uint64_t> after_{&process_memory()};
};

}  // namespace ulpscope::capture

#pragma once

#include <cstdint>
#include <optional>

#include "compare/side.hpp"
#include "ulpscope/difference.hpp"
#include "ulpscope/run.hpp"
#include "ulpscope/tolerance.hpp"

namespace ulpscope::comparison {

/// What is asked about the values of one tensor in both runs. It can be answered by any process
/// that has both dumps.
struct ValueQuestion {
  Both<std::uint32_t> ranks;
  Both<Digest> digests;
  Both<Geometry> geometries;
  Limits limits;         ///< that they are held against
  bool repeats = false;  ///< only this is asked: does a number stand in the reference twice?
};

struct ValueAnswer {
  bool known = false;  ///< both dumps hold the bytes; without, nothing else is set
  std::optional<Difference> difference;  ///< how far apart they are
  bool inside = false;                   ///< of the limits
  bool rows_permuted = false;            ///< the same rows of the first dimension in another order
  bool numbers_permuted = false;         ///< the same numbers in another order
  std::optional<double> ratio;  ///< candidate / reference, where that is one number throughout
  std::optional<bool> repeats;
};

/// @throws Error with ErrorCode::corrupt where the bytes are not those that were recorded.
[[nodiscard]] ValueAnswer study(const Both<const Run*>& runs, const ValueQuestion& question);

}  // namespace ulpscope::comparison

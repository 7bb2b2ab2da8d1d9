#pragma once

#include <cstdint>
#include <optional>

#include "compare/measure/value_pair.hpp"
#include "compare/model/side.hpp"
#include "ulpscope/difference.hpp"
#include "ulpscope/run.hpp"
#include "ulpscope/tolerance.hpp"

namespace ulpscope::comparison {

/// A question about the values of one tensor in both runs. Any process that has both dumps can
/// answer it.
struct ValueQuestion {
  Both<std::uint32_t> ranks;
  Both<Digest> digests;
  Both<Geometry> geometries;
  bool distance = false;         ///< how far they are apart
  bool evidence = false;         ///< what the numbers show beside that; includes the distance
  bool repeats = false;          ///< whether a number occurs in the reference twice
  std::optional<Limits> limits;  ///< whether they are inside of these
};

struct ValueAnswer {
  bool known = false;  ///< both dumps hold the bytes; without, nothing else is set
  std::optional<Difference> difference;
  std::optional<bool> inside;     ///< of the limits
  bool rows_permuted = false;     ///< the same rows of the first dimension in a different order
  bool numbers_permuted = false;  ///< the same numbers in a different order
  std::optional<double> ratio;    ///< candidate / reference, where that is one number throughout
  std::optional<bool> repeats;
};

/// Reads the bytes, piece by piece.
/// @throws Error with ErrorCode::corrupt if they are not those that were recorded.
[[nodiscard]] ValueAnswer study(const Both<const Run*>& runs, const ValueQuestion& question);
/// The same of contents that are known already, `repeats` aside.
[[nodiscard]] ValueAnswer study(const ValuePair& pair, const ValueQuestion& question);

}  // namespace ulpscope::comparison

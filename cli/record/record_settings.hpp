#pragma once

#include <cstdint>
#include <string>

#include "cli/record/session.hpp"
#include "ring/settings.hpp"

/// The values of `record`'s options. All throw Error with ErrorCode::usage that names `source`.
namespace ulpscope::cli {

/// "0-19", "5", "5-" (from there to the end), "setup" (what comes before the first step), as the
/// settings have it: a range that begins at 0 includes setup.
struct StepRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;  ///< inclusive
};
[[nodiscard]] StepRange step_range(const std::string& source, const std::string& value);

/// How many steps that is; 0 if there is no end.
[[nodiscard]] std::uint64_t step_count(const ring::Settings& settings);

/// A glob that can match something.
[[nodiscard]] std::string glob(const std::string& source, const std::string& value);

/// Adds a line to a list of globs.
void add_glob(ring::Text<512>& list, const std::string& source, const std::string& value);

/// "mkldnn=off", "deterministic=on": a setting of LibTorch that the program begins with.
void set_flag(ring::Settings& settings, const std::string& source, const std::string& value);

[[nodiscard]] std::uint64_t ring_bytes(const std::string& source, const std::string& value);
/// A whole number that is not 0.
[[nodiscard]] std::uint32_t at_least_one(const std::string& source, const std::string& value,
                                         const std::string& hint);
/// A size that is not 0.
[[nodiscard]] std::uint64_t some_bytes(const std::string& source, const std::string& value,
                                       const std::string& hint);

/// Options that are valid alone but not together.
void refuse_contradictions(const RecordOptions& options);

/// The values of a dump can be given where every op from the first on is seen.
void refuse_partial_injection(const ring::Settings& settings);

}  // namespace ulpscope::cli

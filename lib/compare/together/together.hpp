#pragma once

#include <functional>
#include <optional>
#include <string>

#include "compare/together/team.hpp"
#include "ulpscope/compare.hpp"

namespace ulpscope {

/// compare() with its work divided: whole ranks if there are at least as many as members, else also
/// the values of a rank that differ. Member 0 gets the report, the same as compare() returns; the
/// others get nothing.
///
/// @throws Error at member 0, what compare() would throw, whichever member met it.
[[nodiscard]] std::optional<Report> compare_together(Team& team, const Run& reference,
                                                     const Run& candidate,
                                                     const CompareOptions& options);

/// Does what every member must do by itself, such as opening the dumps. False if it failed for any
/// of them, and this is not member 0.
///
/// @throws Error at member 0, that of the first member with one.
[[nodiscard]] bool all_manage(Team& team, const std::function<void()>& task);

/// Whether every member says the same. Known to all.
[[nodiscard]] bool all_say(Team& team, const std::string& words);

}  // namespace ulpscope

#pragma once

#include <functional>
#include <optional>
#include <string>

#include "compare/together/team.hpp"
#include "ulpscope/compare.hpp"

namespace ulpscope {

/// compare() with its work shared out: whole ranks where there are as many as members, else the
/// values of a rank that differ too. Member 0 gets the report, which is the same as compare()
/// gives; the others nothing.
///
/// @throws Error at member 0, what compare() would throw, whichever member came upon it.
[[nodiscard]] std::optional<Report> compare_together(Team& team, const Run& reference,
                                                     const Run& candidate,
                                                     const CompareOptions& options);

/// Does what all members have to do by themselves, like opening the dumps. False if it went
/// wrong for any of them, and this is not member 0.
///
/// @throws Error at member 0, that of the first member with one.
[[nodiscard]] bool all_manage(Team& team, const std::function<void()>& task);

/// Whether every member says the same. Known to all.
[[nodiscard]] bool all_say(Team& team, const std::string& words);

}  // namespace ulpscope

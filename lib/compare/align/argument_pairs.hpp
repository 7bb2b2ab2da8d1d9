#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "ulpscope/report.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Calls `enter(argument, report)` with each argument that one list has alone, or that both have
/// with other values. Partners are those for which `are_partners(a, b)`.
template <class ArePartners, class Enter>
void for_each_other_argument(const std::vector<Argument>& reference,
                             const std::vector<Argument>& candidate, ArePartners are_partners,
                             Enter enter) {
  const auto find = [&](const std::vector<Argument>& all, const Argument& wanted) {
    return std::find_if(all.begin(), all.end(),
                        [&](const Argument& one) { return are_partners(one, wanted); });
  };
  for (const Argument& argument : reference) {
    const auto partner = find(candidate, argument);
    if (partner == candidate.end())
      enter(argument, ArgumentReport{std::string(argument.name), argument.text, std::nullopt});
    else if (partner->text != argument.text)
      enter(argument, ArgumentReport{std::string(argument.name), argument.text, partner->text});
  }
  for (const Argument& argument : candidate)
    if (find(reference, argument) == reference.end())
      enter(argument, ArgumentReport{std::string(argument.name), std::nullopt, argument.text});
}

}  // namespace ulpscope::comparison

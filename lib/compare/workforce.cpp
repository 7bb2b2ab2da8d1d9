#include "compare/workforce.hpp"

#include "compare/measure/value_judge.hpp"

namespace ulpscope::comparison {

void OneProcess::compare_ranks(const std::vector<Both<std::uint32_t>>& pairs,
                               const std::function<void(RankResult&&)>& take) {
  for (const auto& ranks : pairs) {
    ValueJudge judge(options_);
    take(compare_rank(runs_, ranks, options_, judge));
  }
}

std::vector<ValueAnswer> OneProcess::study(const std::vector<ValueQuestion>& questions) {
  std::vector<ValueAnswer> answers;
  for (const ValueQuestion& question : questions)
    answers.push_back(comparison::study(runs_, question));
  return answers;
}

}  // namespace ulpscope::comparison

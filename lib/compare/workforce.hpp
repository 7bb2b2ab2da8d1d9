#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "compare/diff/rank_result.hpp"
#include "compare/measure/value_study.hpp"
#include "compare/model/side.hpp"

namespace ulpscope::comparison {

/// Who does the part of a comparison that grows with the dumps: this process alone, or several
/// together. The results do not depend on that.
class Workforce {
 public:
  Workforce() = default;
  Workforce(const Workforce&) = delete;
  Workforce& operator=(const Workforce&) = delete;
  virtual ~Workforce() = default;

  /// Compares ranks pair by pair and delivers the findings of each, in the order of `pairs`.
  virtual void compare_ranks(const std::vector<Both<std::uint32_t>>& pairs,
                             const std::function<void(RankResult&&)>& take) = 0;
  /// The answers in the order of the questions.
  [[nodiscard]] virtual std::vector<ValueAnswer> study(
      const std::vector<ValueQuestion>& questions) = 0;
};

/// This process.
class OneProcess : public Workforce {
 public:
  /// All of them must outlive it.
  OneProcess(const Both<const Run*>& runs, const CompareOptions& options)
      : runs_(runs), options_(options) {}

  void compare_ranks(const std::vector<Both<std::uint32_t>>& pairs,
                     const std::function<void(RankResult&&)>& take) override;
  [[nodiscard]] std::vector<ValueAnswer> study(
      const std::vector<ValueQuestion>& questions) override;

 private:
  const Both<const Run*>& runs_;
  const CompareOptions& options_;
};

}  // namespace ulpscope::comparison

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compare/diff/rank_result.hpp"
#include "compare/measure/value_study.hpp"
#include "ulpscope/error.hpp"

/// Messages between members of a team. All of them run the same program, so a message is read as it
/// was written.
namespace ulpscope::comparison {

/// Why a member could not continue. Of several the first in the order of the work counts: it is
/// what a single process would have met.
struct Trouble {
  std::uint64_t item = 0;      ///< rank or question
  std::uint64_t position = 0;  ///< inside of it
  bool memory = false;         ///< there was not enough of it; else an Error
  ErrorCode code = ErrorCode::io;
  std::string what;
  std::string hint;

  [[noreturn]] void raise() const;
};

/// What a member found about the ranks that it works on.
struct RanksMessage {
  struct Part {
    std::uint64_t pair = 0;
    bool whole = true;  ///< else of `result` the values are new, and nothing but them is filled in
    RankResult result;
  };
  std::vector<Part> parts;
  std::vector<bool> used_renames;
  std::optional<Trouble> trouble;
};

struct QuestionsMessage {
  bool over = false;  ///< there is nothing more to do
  std::vector<ValueQuestion> questions;
};

/// The answers to the questions that fell to a member, in their order.
struct AnswersMessage {
  std::vector<std::pair<std::uint64_t, ValueAnswer>> answers;
  std::optional<Trouble> trouble;
};

template <class Message>
[[nodiscard]] std::string pack(const Message& message);
template <class Message>
[[nodiscard]] Message unpack(const std::string& packed);

}  // namespace ulpscope::comparison

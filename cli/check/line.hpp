#pragma once

#include <optional>

#include "cli/check/sighting.hpp"

namespace ulpscope::cli {

/// Between the process that compares, which keeps end 0, and one that it forks to record, which
/// keeps end 1.
class Line {
 public:
  /// @throws Error with ErrorCode::io.
  Line();
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  ~Line();

  /// In each of the two processes: closes the end of the other one.
  int keep(int end);

  /// Of the process that compares: whether a sighting has come, at most so many milliseconds later.
  /// Waits as long if nothing can come any more.
  [[nodiscard]] bool receive(int milliseconds);
  void answer(Answer answer) const;
  /// Of the process that compares, once the other one has ended.
  [[nodiscard]] std::optional<Trouble> trouble();

 private:
  int ends_[2] = {-1, -1};
  std::optional<Trouble> trouble_;
};

/// Of the process that records, at its end of a line.
void report(int end, const Trouble& trouble);

}  // namespace ulpscope::cli

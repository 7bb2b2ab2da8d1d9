#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "compare/diff/evidence.hpp"
#include "compare/diff/source.hpp"

namespace ulpscope::comparison {

/// Adds `step` to closed ranges that ascend; does nothing if it is in them already.
void add_step(std::vector<std::pair<std::int64_t, std::int64_t>>& ranges, std::int64_t step);

/// All findings of a comparison. What returns in a later step with the same signature is kept once,
/// with the steps in which it returned.
class FindingBook {
 public:
  /// More findings than `capacity` are counted, not kept. What happens more than `most_in_step`
  /// times in one step counts as a repeat.
  explicit FindingBook(std::size_t capacity = 4096, std::uint64_t most_in_step = 64)
      : capacity_(capacity), most_in_step_(most_in_step) {}

  /// Enters what happened at `where`, or counts it as a repeat of an earlier one with that
  /// signature. `build` is called only for a new one. With `once_per_step` false a second
  /// occurrence inside one step is a repeat too. `harmless`: diverges only once its effect is read.
  Source enter(std::uint64_t signature, Source where, bool once_per_step, bool harmless,
               const std::function<Record()>& build);

  /// A finding with that signature has been entered.
  [[nodiscard]] bool knows(std::uint64_t signature) const {
    return by_signature_.contains(signature);
  }

  /// Its effect was read as a differing value: what was harmless until now diverges.
  /// Calls `tell` with the record if that is so for the first time at this occurrence.
  void make_diverging(const Source& source, const std::function<void(Record&)>& tell = {});

  /// Ops of one run alone, `reader`, read what others of that run alone, `writer`, have left in
  /// memory of both: if those diverge, so do these.
  void note_read(const Source& writer, const Source& reader);

  /// At one of its occurrences an op picks another part of a tensor.
  void note_picks(const Source& source, const std::vector<ArgumentReport>& arguments);

  /// An outcome differs because of it.
  void show_in_outcome(std::uint32_t finding) { records_[finding].finding.in_outcome = true; }

  /// What is drawn after it is drawn from a different state.
  void show_shift(const Source& source);

  /// No outcome has shown what differs because of it: it diverges no longer, at any of its
  /// occurrences.
  void absorb(std::uint32_t finding, const Absorbed& absorbed);

  /// It happened before, in a different step, and had no known effect there.
  [[nodiscard]] bool was_harmless_before(const Source& source) const;

  /// True if the runs diverge anywhere so far.
  [[nodiscard]] bool diverges() const noexcept;
  /// True if this finding is from a loader that may only be earlier or later than in the other run.
  [[nodiscard]] bool looks_ahead(const Source& source) const noexcept;
  /// True if this finding diverges, at whichever of its occurrences.
  [[nodiscard]] bool diverges(const Source& source) const noexcept;

  [[nodiscard]] std::vector<Record>& records() noexcept { return records_; }
  [[nodiscard]] const std::vector<Record>& records() const noexcept { return records_; }
  [[nodiscard]] std::uint64_t left_out() const noexcept { return left_out_; }

 private:
  void make_writers_diverge(const Source& reader);

  std::vector<Record> records_;
  struct Known {
    std::uint32_t finding = 0;
    std::int64_t step = kSetup;  ///< in which it happened last
    std::uint64_t in_step = 0;   ///< how often it has there
  };
  std::unordered_map<std::uint64_t, Known> by_signature_;
  std::unordered_map<std::uint32_t, std::uint32_t> diverging_copy_;
  struct Read {
    std::int64_t step = kSetup;  ///< of the reader
    Source writer;
  };
  std::unordered_map<std::uint32_t, std::vector<Read>> reads_;  ///< by the reader's finding
  std::size_t capacity_;
  std::uint64_t most_in_step_;
  std::uint64_t left_out_ = 0;
  bool left_out_diverges_ = false;
};

}  // namespace ulpscope::comparison

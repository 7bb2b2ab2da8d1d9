#include "compare/diff/finding_book.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace ulpscope::comparison {
namespace {

[[nodiscard]] std::optional<std::uint64_t> event_of(std::uint64_t position) {
  if (position == kNone) return std::nullopt;
  return position;
}

[[nodiscard]] bool is_occurrence(const Finding& finding, const Source& source) {
  return step_of(finding) == source.step &&
         finding.event.reference == event_of(source.reference_event) &&
         finding.event.candidate == event_of(source.candidate_event);
}

/// Moves a finding to a different one of its occurrences.
void place(Record& record, const Source& source) {
  Finding& finding = record.finding;
  finding.step = reported_step(source.step);
  record.candidate_step = source.candidate_step;
  finding.event = {event_of(source.reference_event), event_of(source.candidate_event)};
  finding.tensors.clear();
  finding.neighbours.clear();
  record.evidence.tensors.clear();
  record.repeats.clear();
  record.order_event = source.order_event;
  record.after_order_event = source.follows;
}

}  // namespace

void add_step(std::vector<std::pair<std::int64_t, std::int64_t>>& ranges, std::int64_t step) {
  if (!ranges.empty() && step <= ranges.back().second) return;
  if (!ranges.empty() && step == ranges.back().second + 1)
    ranges.back().second = step;
  else
    ranges.emplace_back(step, step);
}

Source FindingBook::enter(std::uint64_t signature, Source where, bool once_per_step, bool harmless,
                          const std::function<Record()>& build) {
  if (const auto at = by_signature_.find(signature); at != by_signature_.end()) {
    Known& known = at->second;
    if (known.step != where.step) known = {known.finding, where.step, 0};
    ++known.in_step;
    Record& record = records_[known.finding];
    const bool same_step = step_of(record.finding) == where.step;
    if (!same_step || !once_per_step || known.in_step > most_in_step_) {
      if (same_step)
        ++record.more_in_step;
      else
        add_step(record.repeats, where.step);
      where.finding = known.finding;
      return where;
    }
  }
  if (records_.size() >= capacity_) {
    ++left_out_;
    left_out_diverges_ = left_out_diverges_ || !harmless;
    where.finding = kLeftOutFinding;
    return where;
  }
  where.finding = static_cast<std::uint32_t>(records_.size());
  records_.push_back(build());
  by_signature_.try_emplace(signature, Known{where.finding, where.step, 1});
  return where;
}

void FindingBook::note_picks(const Source& source, const std::vector<ArgumentReport>& arguments) {
  if (!is_kept(source.finding)) return;
  records_[source.finding].evidence.picks.add(arguments);
  if (const auto copied = diverging_copy_.find(source.finding); copied != diverging_copy_.end())
    records_[copied->second].evidence.picks.add(arguments);
}

bool FindingBook::was_harmless_before(const Source& source) const {
  if (!is_kept(source.finding)) return false;
  const Record& record = records_[source.finding];
  return !record.finding.diverges && step_of(record.finding) != source.step &&
         !diverging_copy_.contains(source.finding);
}

bool FindingBook::diverges() const noexcept {
  return left_out_diverges_ ||
         std::any_of(records_.begin(), records_.end(),
                     [](const Record& record) { return record.listed && record.finding.diverges; });
}

bool FindingBook::diverges(const Source& source) const noexcept {
  if (source.finding == kLeftOutFinding) return left_out_diverges_;
  return is_kept(source.finding) &&
         (records_[source.finding].finding.diverges || diverging_copy_.contains(source.finding));
}

void FindingBook::absorb(std::uint32_t finding, const Absorbed& absorbed) {
  if (!diverges(Source{.finding = finding})) return;
  Record& record = records_[finding];
  record.finding.diverges = false;
  record.finding.absorbed = absorbed;
  record.listed = true;
  const auto copied = diverging_copy_.find(finding);
  if (copied == diverging_copy_.end()) return;
  records_[copied->second].listed = false;
  records_[copied->second].finding.diverges = false;
  diverging_copy_.erase(copied);
}

void FindingBook::show_shift(const Source& source) {
  if (is_kept(source.finding)) records_[source.finding].finding.shifts_draws = true;
}

bool FindingBook::looks_ahead(const Source& source) const noexcept {
  return is_kept(source.finding) && records_[source.finding].evidence.looks_ahead;
}

void FindingBook::note_read(const Source& writer, const Source& reader) {
  if (!is_kept(reader.finding) || writer.finding == reader.finding) return;
  if (diverges(reader)) return make_diverging(writer);
  std::vector<Read>& reads = reads_[reader.finding];
  const bool known = std::any_of(reads.begin(), reads.end(), [&](const Read& read) {
    return read.step == reader.step && read.writer.finding == writer.finding;
  });
  if (!known) reads.push_back({reader.step, writer});
}

void FindingBook::make_writers_diverge(const Source& reader) {
  const auto at = reads_.find(reader.finding);
  if (at == reads_.end()) return;
  std::vector<Source> writers;
  std::erase_if(at->second, [&](const Read& read) {
    if (read.step != reader.step) return false;
    writers.push_back(read.writer);
    return true;
  });
  for (const Source& writer : writers) make_diverging(writer);
}

void FindingBook::make_diverging(const Source& source, const std::function<void(Record&)>& tell) {
  make_writers_diverge(source);
  if (source.finding == kLeftOutFinding) left_out_diverges_ = true;
  if (!is_kept(source.finding)) return;
  Record& record = records_[source.finding];
  if (record.listed && record.finding.diverges) return;
  record.finding.absorbed.reset();
  if (is_occurrence(record.finding, source)) {
    record.listed = true;
    record.finding.diverges = true;
    if (tell) tell(record);
    return;
  }
  const auto copied = diverging_copy_.find(source.finding);
  if (copied == diverging_copy_.end()) {
    if (records_.size() >= capacity_) {
      ++left_out_;
      left_out_diverges_ = true;
      return;
    }
    Record copy = record;
    copy.copy_of = source.finding;
    place(copy, source);
    copy.listed = true;
    copy.finding.diverges = true;
    copy.effect.reset();
    if (tell) tell(copy);
    diverging_copy_.emplace(source.finding, static_cast<std::uint32_t>(records_.size()));
    records_.push_back(std::move(copy));
    return;
  }
  Record& copy = records_[copied->second];
  const auto earlier = std::tuple(source.step, source.order_event) <
                       std::tuple(step_of(copy.finding), copy.order_event);
  if (earlier)
    place(copy, source);
  else if (source.step != step_of(copy.finding))
    add_step(copy.repeats, source.step);
}

}  // namespace ulpscope::comparison

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "compare/model/value_match.hpp"
#include "compare/model/words.hpp"
#include "compare/report/causes/rules.hpp"
#include "compare/report/environment.hpp"
#include "core/glob.hpp"
#include "facts/ops.hpp"

namespace ulpscope::comparison::causes {
namespace {

[[nodiscard]] std::vector<std::string> differing_inputs(const Case& of) {
  if (!of.evidence().blamed.empty()) return of.evidence().blamed;
  std::vector<std::string> names;
  for (const TensorReport& tensor : of.finding().tensors)
    if (tensor.role == Role::input && !tensor.equal)
      names.push_back(tensor.name.empty() ? fmt::format("input {}", tensor.index) : tensor.name);
  return names;
}

[[nodiscard]] bool measured(const Case& of) {
  return std::any_of(of.finding().tensors.begin(), of.finding().tensors.end(),
                     [](const TensorReport& tensor) { return tensor.difference.has_value(); });
}

[[nodiscard]] bool at_start(const Finding& finding) { return finding.step.value_or(0) == 0; }

[[nodiscard]] bool draws_before_training(const Case& of) {
  return of.is(FindingKind::sequence) && of.finding().diverges && !of.finding().step &&
         of.evidence().alone_draws && of.runs().other_start;
}

/// All that it reads and that differs are views, of the same shape, of other places in what holds
/// the data.
[[nodiscard]] bool reads_other_places(const Case& of) {
  if (!of.is(FindingKind::data) || of.evidence().layers_only) return false;
  bool any = false;
  for (std::size_t k = 0; k < of.finding().tensors.size(); ++k) {
    const TensorReport& tensor = of.finding().tensors[k];
    if (tensor.role != Role::input || tensor.equal) continue;
    const auto& [a, b] = of.evidence().tensors[k].geometry;
    if (a.sizes != b.sizes || a.strides != b.strides || a.storage_offset == b.storage_offset)
      return false;
    any = true;
  }
  return any;
}

[[nodiscard]] bool is_content(const Case& of) {
  return of.is(FindingKind::data) && !reads_other_places(of) &&
         (!of.evidence().uninitialised || of.evidence().for_data);
}

/// Rows of several numbers each: that all of them return is no accident.
[[nodiscard]] bool has_whole_rows(const Case& of) {
  return any_differing(of, [](const TensorEvidence& tensor) {
    const auto& sizes = tensor.geometry.reference.sizes;
    return tensor.rows_permuted && sizes.size() > 1 &&
           element_count(tensor.geometry.reference) > static_cast<std::uint64_t>(sizes.front());
  });
}

[[nodiscard]] std::string rearranged(const Case& of) {
  return fmt::format("{}: the same numbers in a different order (transposed or permuted)",
                     listed(differing_inputs(of)));
}

/// What is imported before training begins, such as weights of another framework.
[[nodiscard]] std::optional<Cause> imported_otherwise(const Case& of) {
  const bool other_layout = any_differing(of, [](const TensorEvidence& tensor) {
    return tensor.numbers_permuted && !tensor.rows_permuted;
  });
  if (of.finding().step || !other_layout) return std::nullopt;
  Cause cause = of.cause("weights", Confidence::likely);
  cause.evidence = {rearranged(of)};
  return cause;
}

/// The program goes by what is in it: ops that only one run has read it before any wrote it.
[[nodiscard]] bool is_read_as_it_was(const Case& of) {
  const ReportedTensor& tensor = of.effect()->tensor;
  return std::any_of(kSides.begin(), kSides.end(), [&](Side side) {
    const auto& read = on(of.evidence().alone_unwritten, side);
    const std::uint64_t storage = on(tensor.evidence.storage, side);
    const std::string key = storage == kNone ? tensor.report.name : fmt::format("{}", storage);
    return std::find(read.begin(), read.end(), key) != read.end();
  });
}

/// What the tensors that differ are, as far as is known.
[[nodiscard]] std::string origin_of_content(const Case& of, bool of_one) {
  const Evidence& evidence = of.evidence();
  const std::string_view filled = of_one ? "was" : "were";
  if (evidence.changed_in_both)
    return fmt::format("{} filled outside of recorded ops in both runs", filled);
  if (evidence.left_in_part)
    return fmt::format("{} filled outside of recorded ops since these wrote a part of it", filled);
  if (evidence.left_by_ops)
    return fmt::format("{} what recorded ops have left, other ones in each run",
                       of_one ? "is" : "are");
  return of_one ? "comes from outside of recorded ops and has different contents"
                : "come from outside of recorded ops and have different contents";
}

/// The same program, as far as is known.
[[nodiscard]] bool started_alike(const Case& of) {
  const Report& report = of.report();
  return !report.reference.command.empty() &&
         report.reference.command == report.candidate.command && of.same_settings();
}

/// What a process that loads data makes, though it was started alike: its generators and the files
/// that it reads are its own.
[[nodiscard]] std::optional<Cause> made_by_worker(const Case& of) {
  if (!of.in_created_rank() || !started_alike(of)) return std::nullopt;
  const bool from_outside = of.is(FindingKind::data) || of.is(FindingKind::rng);
  if (!from_outside && !of.is(FindingKind::sequence)) return std::nullopt;
  Cause cause = of.cause("worker", from_outside ? Confidence::likely : Confidence::possible);
  cause.evidence = {fmt::format(
      "it is in rank {}, a process that another rank has created; commands and settings are equal, "
      "but what it draws from generators of its own, and the files it reads, need not be",
      of.finding().rank)};
  cause.attempt = {
      "seed random, NumPy and generators of the data set in worker_init_fn, from "
      "torch.initial_seed()"};
  return cause;
}

}  // namespace

std::optional<Cause> init(const Case& of) {
  if (draws_before_training(of)) {
    Cause cause = of.cause("init", Confidence::likely);
    for (const Side side : kSides)
      if (const auto& written = on(of.evidence().alone_written, side); !written.empty())
        cause.evidence.push_back(fmt::format("only the {} initializes {} by {}", name(side),
                                             listed(written, 3), of.finding().op));
    cause.evidence.emplace_back(
        "ops of one run alone draw random numbers, so what is drawn later differs");
    cause.attempt = {"construct the same modules in the same order, or load the same weights"};
    return cause;
  }
  if (!of.is(FindingKind::parameter) || !at_start(of.finding()) || of.late_begin() ||
      of.evidence().named_otherwise || !of.evidence().write_order.empty() ||
      !of.evidence().shared_memory.writes.empty())
    return std::nullopt;
  if (any_differing(of, [](const TensorEvidence& tensor) { return tensor.numbers_permuted; }))
    return std::nullopt;
  const bool written = any_differing(of, [](const TensorEvidence& tensor) {
    return !((tensor.flags.reference | tensor.flags.candidate) & slot_flag::unproduced);
  });
  const auto& created = of.runs().created;
  const bool by_others = !created.reference.empty() || !created.candidate.empty();
  Cause cause = of.cause("init", written     ? Confidence::possible
                                 : by_others ? Confidence::likely
                                             : Confidence::certain);
  if (!written && by_others)
    cause.against.emplace_back("a process that the program has created may have written it");
  cause.evidence = {fmt::format("{} {} at the first use{}", listed(differing_inputs(of)),
                                differing_inputs(of).size() == 1 ? "differs" : "differ",
                                written ? "" : ", and no recorded op wrote it before")};
  cause.attempt = {"load the same weights in both programs"};
  return cause;
}

std::optional<Cause> weights(const Case& of) {
  if (of.is(FindingKind::data)) return imported_otherwise(of);
  if (!of.is(FindingKind::parameter)) return std::nullopt;
  const bool permuted =
      any_differing(of, [](const TensorEvidence& tensor) { return tensor.numbers_permuted; });
  if (of.evidence().named_otherwise) return std::nullopt;
  if (!permuted && (at_start(of.finding()) || of.late_begin())) return std::nullopt;
  Cause cause = of.cause("weights", permuted ? Confidence::certain : Confidence::likely);
  cause.evidence = {permuted ? rearranged(of)
                             : fmt::format("{} differs at its first use in {}, after equal steps",
                                           listed(differing_inputs(of)),
                                           step_words(*of.finding().step))};
  return cause;
}

std::optional<Cause> data_order(const Case& of) {
  if (picks_samples(of)) {
    Cause cause = of.cause("data-order", Confidence::likely);
    cause.evidence = {of.evidence().picks.in_another_order()
                          ? "over the whole run both pick the same places, in a different order"
                          : "different samples are picked from equal data"};
    add_notes(of, cause);
    cause.attempt = {"seed the sampler the same way in both programs"};
    return cause;
  }
  if (may_pick_samples(of)) {
    Cause cause = of.cause("data-order", Confidence::possible);
    cause.evidence = {"another part of equal data is picked"};
    add_notes(of, cause);
    return cause;
  }
  if (reads_other_places(of)) {
    Cause cause = of.cause("data-order", Confidence::likely);
    cause.evidence = {"what it reads are views of other places in what holds the data"};
    add_notes(of, cause);
    cause.attempt = {"seed the sampler the same way in both programs"};
    return cause;
  }
  if (!is_content(of)) return std::nullopt;
  Cause cause = of.cause("data-order", Confidence::certain);
  if (in_another_order(of)) {
    // Numbers of their own that are permuted may have been given to others: classes renumbered.
    if (!of.evidence().same_tensors && !of.evidence().same_set_of_data && !has_whole_rows(of))
      cause.confidence = Confidence::likely;
    cause.evidence = {of.evidence().same_tensors
                          ? "it reads the same tensors in both runs, in a different order"
                      : of.evidence().same_set_of_data
                          ? "over the whole run both read the same values, in a different order"
                          : "the rows of the batch are the same, in a different order"};
  } else {
    if (measured(of) || of.evidence().left_in_part || reads_state(of)) return std::nullopt;
    cause.confidence = Confidence::possible;
    cause.evidence = {
        "without the bytes of the batch a different order looks like different content"};
    cause.attempt = {"ulpscope record --level full -- " + of.command("")};
  }
  add_notes(of, cause);
  cause.attempt.emplace_back("seed the sampler the same way in both programs");
  return cause;
}

/// Memory that no op wrote may be what the program has filled itself.
[[nodiscard]] std::optional<Cause> filled_by_program(const Case& of) {
  const bool of_module = any_differing(of, [](const TensorEvidence& tensor) {
    return ((tensor.flags.reference | tensor.flags.candidate) &
            (slot_flag::parameter | slot_flag::buffer)) != 0;
  });
  if (!of.is(FindingKind::data) || !of.evidence().uninitialised || of.evidence().for_data ||
      of_module || reads_other_places(of))
    return std::nullopt;
  Cause cause = of.cause("data-content", Confidence::possible);
  cause.evidence = {fmt::format("the program may have filled {} itself, past recorded ops",
                                listed(differing_inputs(of)))};
  return cause;
}

std::optional<Cause> data_content(const Case& of) {
  if (auto filled = filled_by_program(of)) return filled;
  if (!is_content(of) || in_another_order(of)) return std::nullopt;
  const bool known = of.evidence().left_in_part || of.evidence().left_by_ops;
  Cause cause = of.cause("data-content", known ? Confidence::possible : Confidence::likely);
  const auto inputs = differing_inputs(of);
  cause.evidence = {
      fmt::format("{} {}", listed(inputs), origin_of_content(of, inputs.size() == 1))};
  if (of.evidence().for_data)
    cause.evidence.push_back("the program prepares data where the memory was handed out, by " +
                             of.evidence().factory);
  if (measured(of))
    cause.evidence.emplace_back("its rows are not those of the other run in a different order");
  add_notes(of, cause);
  return cause;
}

std::optional<Cause> uninitialised(const Case& of) {
  if (of.effect()) {
    const auto& flags = of.effect()->tensor.evidence.flags;
    if (((flags.reference | flags.candidate) & slot_flag::uninitialised) == 0) return std::nullopt;
    const bool filled = of.effect()->of_data || is_read_as_it_was(of);
    Cause cause = of.cause("uninitialised", filled ? Confidence::possible : Confidence::likely);
    cause.evidence = {fmt::format("{} reads memory that no recorded op wrote", of.effect()->place)};
    if (filled)
      cause.against = {"memory that the program fills itself, past recorded ops, looks the same"};
    cause.attempt = {of.command("MALLOC_PERTURB_=85"), of.command("MALLOC_PERTURB_=165")};
    return cause;
  }
  if (!of.evidence().uninitialised || reads_other_places(of)) return std::nullopt;
  const bool filled_elsewhere = of.evidence().for_data;
  Cause cause =
      of.cause("uninitialised", filled_elsewhere ? Confidence::possible : Confidence::likely);
  cause.evidence = {fmt::format("{} reads memory that no recorded op wrote", of.finding().op)};
  if (!of.evidence().factory.empty())
    cause.evidence.push_back("the memory was handed out by " + of.evidence().factory);
  cause.against = {"memory that the program fills itself, past recorded ops, looks the same"};
  cause.attempt = {of.command("MALLOC_PERTURB_=85"), of.command("MALLOC_PERTURB_=165")};
  return cause;
}

std::optional<Cause> external_write(const Case& of) {
  if (of.is(FindingKind::data) && of.evidence().left_in_part) {
    Cause cause = of.cause("external-write", Confidence::likely);
    cause.evidence = {
        fmt::format("recorded ops have last written a part of {}, and nothing that differs: it was "
                    "written past them, in one run or in both",
                    listed(differing_inputs(of)))};
    return cause;
  }
  if (!of.is(FindingKind::write)) return std::nullopt;
  Cause cause = of.cause("external-write", Confidence::certain);
  cause.evidence = {
      fmt::format("{} changed between its last recorded write and this read, in one run only",
                  listed(differing_inputs(of)))};
  return cause;
}

std::optional<Cause> race(const Case& of) {
  const bool same_start = started_alike(of);
  if (const std::string& order = of.evidence().write_order; !order.empty()) {
    Cause cause = of.cause("race", same_start ? Confidence::likely : Confidence::possible);
    cause.evidence = {"threads write a parameter in a different order in each run", order};
    cause.attempt = {"let one thread at a time read and update the parameters, by a lock"};
    return cause;
  }
  if (const SharedMemory& shared = of.evidence().shared_memory; !shared.writes.empty()) {
    const bool side_by_side = same_start && shared.of_siblings;
    Cause cause = of.cause("race", side_by_side ? Confidence::likely : Confidence::possible);
    if (!shared.of_siblings)
      cause.against = {"the process that reads may have waited for the one that writes"};
    cause.evidence = {"processes share memory, and one reads what another has written",
                      shared.writes};
    cause.attempt = {"let one process at a time read and update the memory, by a lock"};
    return cause;
  }
  if (!of.evidence().changed_in_both || !same_start) return std::nullopt;
  Cause cause = of.cause("race", Confidence::possible);
  cause.evidence = {fmt::format(
      "the program writes {} past recorded ops, and does so differently though commands "
      "and settings are equal",
      listed(differing_inputs(of)))};
  cause.against = {"a time, a file that changed or random numbers of its own would look the same"};
  return cause;
}

std::optional<Cause> alias(const Case& of) {
  if (const std::string& overwritten = of.evidence().overwritten; !overwritten.empty()) {
    Cause cause = of.cause("alias", Confidence::likely);
    cause.evidence = {overwritten};
    return cause;
  }
  if (!of.is(FindingKind::write) || !of.evidence().written_otherwise) return std::nullopt;
  Cause cause = of.cause("alias", Confidence::possible);
  cause.evidence = {"the memory was last written through a view of other bytes than are read"};
  cause.attempt = {"clone() the tensor before the write and see whether the difference stays"};
  return cause;
}

std::optional<Cause> worker(const Case& of) {
  if (auto made = made_by_worker(of)) return made;
  const auto& threads = of.runs().threads;
  const auto& processes = of.runs().created;
  const bool other_processes = processes.reference.size() != processes.candidate.size();
  if (threads.reference == threads.candidate && !other_processes) return std::nullopt;
  const std::string& lane = of.finding().lane;
  const bool of_data = of.is(FindingKind::data) || of.is(FindingKind::rng) ||
                       (of.finding().phase == Phase::data && !of.finding().module) ||
                       lane.starts_with("worker") || lane.starts_with("thread") ||
                       (other_processes && (prepares_data(of.finding()) || of.in_created_rank()));
  if (!of_data) return std::nullopt;
  Cause cause = of.cause("worker", Confidence::likely);
  cause.evidence = {other_processes
                        ? fmt::format("the runs have {} and {} worker processes",
                                      processes.reference.size(), processes.candidate.size())
                        : fmt::format("{} and {} threads work beside the main one",
                                      threads.reference, threads.candidate)};
  cause.attempt = {"use the same number of workers, and a generator of its own for each"};
  return cause;
}

std::optional<Cause> epoch(const Case& of) {
  const Evidence& evidence = of.evidence();
  const bool both_known = !evidence.epochs.reference.empty() && !evidence.epochs.candidate.empty();
  const bool one_begins =
      both_known && evidence.begins_epoch.reference != evidence.begins_epoch.candidate;
  if (!evidence.missing_steps && !one_begins) return std::nullopt;
  Cause cause =
      of.cause("epoch", evidence.missing_steps ? Confidence::certain : Confidence::likely);
  if (evidence.missing_steps)
    cause.evidence = {fmt::format("the runs have {} and {} steps; all that both have is equal",
                                  of.report().reference.steps, of.report().candidate.steps)};
  else
    cause.evidence = {
        fmt::format("only in the {} an epoch begins here",
                    name(evidence.begins_epoch.reference ? Side::reference : Side::candidate))};
  for (const Side side : kSides)
    if (!on(evidence.epochs, side).empty())
      cause.evidence.push_back(fmt::format("the {}: {}", name(side), on(evidence.epochs, side)));
  return cause;
}

}  // namespace ulpscope::comparison::causes

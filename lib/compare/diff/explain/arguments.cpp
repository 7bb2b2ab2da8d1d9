#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>

#include "compare/diff/explain/explainers.hpp"
#include "compare/diff/explain/fresh.hpp"
#include "compare/diff/explain/results.hpp"
#include "compare/diff/finding_writer.hpp"
#include "compare/diff/optimizer_options.hpp"
#include "compare/diff/picks.hpp"
#include "compare/measure/rounding.hpp"
#include "compare/model/hash.hpp"
#include "compare/model/place.hpp"
#include "compare/model/words.hpp"
#include "core/number_text.hpp"
#include "facts/ops.hpp"

namespace ulpscope::comparison {
namespace {

/// A number with a short text was written by a person; one with all its digits was computed.
[[nodiscard]] bool looks_computed(std::string_view text) {
  constexpr std::size_t kComputedLength = 12;
  return text.size() >= kComputedLength && number_in(text).has_value();
}

/// "0.001" or "1e-05", but neither a whole number, which may be a count, nor one with all digits.
[[nodiscard]] bool is_written_fraction(std::string_view text) {
  const auto number = number_in(text);
  return number && *number != std::floor(*number) && !looks_computed(text);
}

/// One, or a list of them: "3", "[3, 4]".
[[nodiscard]] bool are_integers(std::string_view text) {
  return text.find_first_not_of("0123456789-[], ") == std::string_view::npos &&
         text.find_first_of("0123456789") != std::string_view::npos;
}

/// A word (True, None, tanh), or a whole number that is not a count: it cannot have changed by
/// something that the program computes.
[[nodiscard]] bool is_setting(const ArgumentReport& argument) {
  static constexpr auto kNumbers = std::to_array<std::string_view>(
      {"dim",          "dim0",        "dim1",       "dims",     "reduction",   "groups",
       "num_groups",   "stride",      "padding",    "dilation", "kernel_size", "output_padding",
       "ignore_index", "padding_idx", "num_layers", "diagonal", "correction",  "p",
       "ord",          "exponent",    "norm_type"});
  if (std::find(kNumbers.begin(), kNumbers.end(), argument.name) != kNumbers.end()) return true;
  const auto is_word = [](const std::string& text) {
    return text.find_first_of("0123456789") == std::string::npos;
  };
  return is_word(*argument.reference) || is_word(*argument.candidate);
}

/// Elements are computed with it: it picks none, and says no size.
[[nodiscard]] bool is_operand(std::string_view argument) {
  static constexpr auto kOperands =
      std::to_array<std::string_view>({"other", "alpha", "beta", "value", "min", "max", "threshold",
                                       "negative_slope", "lambd", "delta", "margin", "scale"});
  return std::find(kOperands.begin(), kOperands.end(), argument) != kOperands.end();
}

/// "2" and "2.0": whether it is an integer shows in the dtype of the result.
[[nodiscard]] bool is_same_number(const ArgumentReport& argument) {
  const auto reference = number_in(argument.reference.value_or(""));
  return reference && reference == number_in(argument.candidate.value_or(""));
}

[[nodiscard]] bool derived(const OpPair& ops, const ArgumentReport& argument) {
  if (!ops.state.ledger.any(Differing::number) || !argument.reference || !argument.candidate)
    return false;
  return ops.state.ledger.find(differing::number(*argument.reference, *argument.candidate)) ||
         (looks_computed(*argument.reference) && looks_computed(*argument.candidate));
}

/// A number that the program has computed itself, such as a bias correction, and that differs by
/// more than rounding, while all numbers that it has read from tensors and all sizes were equal. A
/// whole number may count what is stored.
[[nodiscard]] bool is_computed_apart(const OpPair& ops, const ArgumentReport& argument) {
  const auto reference = number_in(*argument.reference);
  const auto candidate = number_in(*argument.candidate);
  if (!reference || !candidate || ops.lane.numbers || ops.state.ledger.any(Differing::fraction) ||
      ops.state.ledger.any(Differing::size))
    return false;
  const bool whole = *reference == std::floor(*reference) && *candidate == std::floor(*candidate);
  if (whole && (ops.state.ledger.any(Differing::number) || !is_operand(argument.name)))
    return false;
  const double size = std::max(std::abs(*reference), std::abs(*candidate));
  return std::abs(*reference - *candidate) >
         rounding_distance(Dtype::float32, roundings::kWholeProgram) * size;
}

/// Why all of the arguments differ, where they are sizes that differ already.
[[nodiscard]] std::optional<Source> explained_by_sizes(const OpPair& ops,
                                                       const std::vector<ArgumentReport>& reports) {
  static constexpr std::array<std::string_view, 8> kSizes{
      "size", "length", "start", "end", "split_size", "split_sizes", "repeats", "output_size"};
  if (ops.in_data_code()) return std::nullopt;
  std::optional<Source> source;
  for (const ArgumentReport& report : reports) {
    if (std::find(kSizes.begin(), kSizes.end(), report.name) == kSizes.end()) return std::nullopt;
    source = ops.state.ledger.explain_sizes(report.reference.value_or(""),
                                            report.candidate.value_or(""));
    if (!source) return std::nullopt;
  }
  return source;
}

/// Why the program picks other elements, or makes room for other samples, where that follows from
/// integers that it has drawn.
[[nodiscard]] std::optional<Source> picked_by_drawn(const OpPair& ops,
                                                    const std::vector<ArgumentReport>& reports) {
  const auto drawn = ops.drawn_order();
  const Event& here = ops.event(Side::reference);
  const bool follows = facts::Op(here.op).has(facts::fact::picks) ||
                       (here.flags & event_flag::factory) || ops.in_data_code();
  if (!drawn || !follows) return std::nullopt;
  const bool integers = std::all_of(reports.begin(), reports.end(), [](const auto& report) {
    return report.reference && report.candidate && are_integers(*report.reference) &&
           are_integers(*report.candidate);
  });
  return integers ? drawn : std::nullopt;
}

/// Why an optimizer computes with other numbers, if it has read numbers that differ and is not set
/// otherwise.
[[nodiscard]] std::optional<Source> read_in_update(const OpPair& ops) {
  const Window& window = *ops.scene.windows.reference;
  const std::uint32_t step = optimizer_around(window, ops.at.reference);
  if (step == kNoIndex || ops.event(Side::reference).phase != Phase::optimizer ||
      !other_options(ops.scene, ops.at).empty())
    return std::nullopt;
  return ops.state.ledger.find(differing::number_of_update(
      Side::reference, {ops.scene.lanes.reference->id, window.event(step).position}));
}

/// It returns the elements of its input in the same order: only a reader can distinguish the
/// shapes.
[[nodiscard]] bool only_reshapes(const OpPair& ops) {
  bool reshaped = false;
  for (const SlotPair& slot : ops.slots) {
    if (slot.role() == Role::input) continue;
    if (is_difference(slot.match)) return false;
    reshaped = reshaped || slot.match == Match::reshaped;
  }
  return reshaped;
}

/// Only one run has an op that views this memory differently.
[[nodiscard]] std::optional<Source> viewed_alone(const OpPair& ops, const SlotPair& slot) {
  for (const Side side : kSides) {
    const Slot& one = *slot.of(side);
    if (auto source = ops.state.ledger.find(differing::view(side, one.storage, ops.scene.step)))
      return source;
  }
  return std::nullopt;
}

[[nodiscard]] std::optional<Both<std::string>> numbers_of(const OpPair& ops, const SlotPair& slot) {
  const auto apart = ops.difference_of(slot);
  if (!apart || !apart->worst) return std::nullopt;
  return Both<std::string>{apart->worst->reference, apart->worst->candidate};
}

/// The same of one run, whatever dtype the other one's number has.
[[nodiscard]] std::optional<std::string> number_of(const OpPair& ops, Side side, const Slot& slot) {
  const Dtype dtype = slot.geometry->dtype;
  const auto bytes = on(ops.scene.runs, side)->content(on(ops.scene.ranks, side), slot.digest);
  std::uint64_t bits = 0;
  if (!bytes || is_complex(dtype) || bytes->size() != core::number_bits(dtype) / 8 ||
      bytes->size() > sizeof bits)
    return std::nullopt;
  std::memcpy(&bits, bytes->data(), bytes->size());
  return core::number_text(dtype, bits);
}

[[nodiscard]] std::optional<Both<std::string>> numbers_of_dtypes(const OpPair& ops,
                                                                 const SlotPair& slot) {
  const auto reference = number_of(ops, Side::reference, *slot.reference);
  const auto candidate = number_of(ops, Side::candidate, *slot.candidate);
  if (!reference || !candidate) return std::nullopt;
  return Both<std::string>{*reference, *candidate};
}

/// The number that travelled as a tensor, where its bytes are known. "2" and "2.5" have different
/// dtypes.
[[nodiscard]] std::optional<ArgumentReport> wrapped_number(const OpPair& ops,
                                                           const SlotPair& slot) {
  const bool of_dtypes = slot.match == Match::metadata && both(slot, slot_flag::wrapped_number);
  if (slot.role() != Role::input || (slot.match != Match::differs && !of_dtypes) ||
      !either(slot, slot_flag::wrapped_number))
    return std::nullopt;
  const auto numbers = of_dtypes ? numbers_of_dtypes(ops, slot) : numbers_of(ops, slot);
  if (of_dtypes && (!numbers || number_in(numbers->reference) == number_in(numbers->candidate)))
    return std::nullopt;
  return ArgumentReport{tensor_name(*slot.owner, slot.any()),
                        numbers ? std::optional(numbers->reference) : std::nullopt,
                        numbers ? std::optional(numbers->candidate) : std::nullopt};
}

/// Belongs to an update of parameters, or writes in place between the calls of a model.
[[nodiscard]] bool is_update(const OpPair& ops) {
  const Event& here = ops.event(Side::reference);
  if ((here.flags & event_flag::in_optimizer) || here.phase == Phase::optimizer) return true;
  if (here.phase != Phase::eval) return false;
  return std::any_of(ops.slots.begin(), ops.slots.end(),
                     [](const SlotPair& slot) { return slot.role() == Role::mutated; });
}

/// Backward gets its forward op's arguments: why those differ.
[[nodiscard]] std::optional<Source> arguments_of_forward(const OpPair& ops) {
  if (!(ops.event(Side::reference).flags & event_flag::in_backward)) return std::nullopt;
  return ops.state.ledger.find(differing::arguments(
      Side::reference, forward_place(*ops.scene.windows.reference, ops.at.reference)));
}

/// The ops inside of it too: a node may belong to one of them.
void keep_argued(OpPair& ops, const Source& source) {
  for (const Side side : kSides) {
    const Window& window = *on(ops.scene.windows, side);
    const std::uint32_t at = side == Side::reference ? ops.at.reference : ops.at.candidate;
    for (std::uint32_t inner = at; inner < window.end(at); ++inner)
      ops.state.ledger.enter(
          differing::arguments(side, {on(ops.scene.lanes, side)->id, window.event(inner).position}),
          source);
  }
}

/// The program has read numbers that differ, or has tensors of other sizes, and may have computed
/// the arguments from them: none of them is a setting, or was written by a person.
[[nodiscard]] bool may_be_computed(const OpPair& ops, const std::vector<ArgumentReport>& reports) {
  const Ledger& ledger = ops.state.ledger;
  if (!ledger.any(Differing::number) && !ledger.any(Differing::size)) return false;
  return std::none_of(reports.begin(), reports.end(), [](const ArgumentReport& report) {
    return report.reference && report.candidate &&
           (is_setting(report) ||
            (is_written_fraction(*report.reference) && is_written_fraction(*report.candidate)));
  });
}

void enter_arguments(OpPair& ops, const std::vector<ArgumentReport>& reports, bool wrapped) {
  // Which rows a loader reads, and when, matters only if their contents differ.
  const bool looks_ahead =
      ops.in_data_code() && (ops.event(Side::reference).flags & event_flag::view);
  const bool pending = !wrapped && (only_reshapes(ops) || looks_ahead);
  const auto forward = pending ? std::nullopt : arguments_of_forward(ops);
  if (forward) return ops.propagated(*forward);
  // One setting of an optimizer is an argument of an op for every parameter; so is that of a
  // program that updates averages of them.
  const bool updates = is_update(ops);
  const bool of_mode = std::all_of(reports.begin(), reports.end(),
                                   [](const auto& report) { return is_mode(report.name); });
  // One constant of the program may be given to the ops of many modules.
  const bool is_constant =
      !ops.in_data_code() && std::all_of(reports.begin(), reports.end(), [](const auto& report) {
        return number_in(report.reference.value_or("")) && number_in(report.candidate.value_or(""));
      });
  // A module that is called again has its setting still; train() and eval() reach all modules.
  const bool one_setting = updates || ops.between_models() || ops.event(Side::reference).has_module;
  // A hyperparameter is an argument of several ops of the update, or a number made of it that
  // changes with each step.
  const auto options = other_options(ops.scene, ops.at);
  // Samples are picked in a row, by the program's own code.
  const Event& here = ops.event(Side::reference);
  const bool picks = !here.has_module && pick_a_part(here, reports);
  KeyHash key;
  if (picks) key.add(place_in_program(here.stack).place);
  for (const ArgumentReport& report : reports) {
    key.add(report.name);
    if (!picks && !ops.in_data_code())
      key.add(report.reference.value_or("")).add(report.candidate.value_or(""));
  }
  const budget::Judged judged = judge_budget(ops, ops.at, ops.slots);
  const Source source = enter_finding(
      ops.state, FindingKind::arguments, ops.scene, ops.at, ops.at,
      {.key = options.empty() ? key.value()
                              : ops.state.program.option_keys.of(ops.scene, ops.at, options),
       .once_per_step = !one_setting && !picks,
       .any_place = updates || of_mode || is_constant || picks,
       .any_op = !options.empty()},
      [&](Record& record) {
        record.finding.diverges = !pending;
        record.finding.arguments = reports;
        record.evidence.wrapped_number = wrapped;
        record.evidence.may_follow = may_be_computed(ops, reports);
        record.evidence.looks_ahead = pending && looks_ahead;
        add_tensors(record, ops.slots);
        add_budgets(record, judged);
      });
  if (picks) ops.state.book.note_picks(source, reports);
  keep_argued(ops, source);
  if (!pending) {
    ops.state.book.make_diverging(source);
    return ops.found(source);
  }
  ops.why = source;
  if (!looks_ahead) ops.judgement.pending = source;
}

/// The run whose tensor needs no gradient, where that of the other one does.
[[nodiscard]] std::optional<Side> without_gradient(const SlotPair& slot) {
  if (slot.reference == nullptr || slot.candidate == nullptr) return std::nullopt;
  const auto needs = [&](Side side) {
    return (slot.of(side)->flags & slot_flag::requires_grad) != 0;
  };
  if (needs(Side::reference) == needs(Side::candidate)) return std::nullopt;
  return needs(Side::reference) ? Side::candidate : Side::reference;
}

}  // namespace

void explain_rearranged(OpPair& ops) {
  std::vector<const SlotPair*> rearranged;
  std::optional<Source> known;
  for (const SlotPair& slot : ops.slots) {
    const bool is_rearranged = slot.match == Match::reshaped || slot.match == Match::reordered;
    if (slot.role() != Role::input || (!is_rearranged && slot.match != Match::layout)) continue;
    if (!known) known = ops.reason_of(slot);
    if (!known && slot.match == Match::reordered) known = viewed_alone(ops, slot);
    if (is_rearranged) rearranged.push_back(&slot);
  }
  const bool differs = std::any_of(ops.slots.begin(), ops.slots.end(), [](const SlotPair& slot) {
    return slot.role() != Role::input && is_difference(slot.match);
  });
  // What the program reads past ops is in that order.
  const bool leaves = facts::Op(ops.event(Side::reference).op).has(facts::fact::leaves_run) &&
                      std::any_of(rearranged.begin(), rearranged.end(), [](const SlotPair* slot) {
                        return slot->match == Match::reordered;
                      });
  if (!differs && !leaves) {
    ops.why = known;
  } else if (known) {
    ops.judgement.follows = true;
    ops.propagated(*known);
  } else if (!rearranged.empty()) {
    enter_fresh(ops, FindingKind::metadata, rearranged);
  }
}

void explain_detached(OpPair& ops) {
  Ledger& ledger = ops.state.ledger;
  std::optional<Source> source;
  for (const SlotPair& slot : ops.slots) {
    const auto without = without_gradient(slot);
    if (!without) continue;
    const std::uint64_t storage = slot.of(*without)->storage;
    if (slot.role() == Role::input && !source) {
      source = ledger.find(differing::view(*without, storage, ops.scene.step));
      if (!source)
        source = ledger.find(differing::without_gradient(*without, storage, ops.scene.step));
      if (source) continue;
      const auto copy = ops.state.partners.copies.of_original(slot, ops.state.partners.storages);
      if (copy && copy->side == *without) source = copy->source;
    } else if (slot.role() != Role::input && source) {
      ledger.enter(differing::without_gradient(*without, storage, ops.scene.step), *source);
    }
  }
  if (source) keep_argued(ops, *source);
}

void explain_arguments(OpPair& ops) {
  std::vector<ArgumentReport> reports = ops.arguments.values;
  if (gives_the_same(ops)) std::erase_if(reports, is_same_number);
  bool wrapped = false;
  bool unknown = false;
  for (const SlotPair& slot : ops.slots) {
    if (slot.role() == Role::input && slot.match == Match::one_sided) {
      const auto words = [](const Slot* one) {
        return std::string(one && !(one->flags & slot_flag::undefined) ? "Tensor" : "None");
      };
      reports.push_back(
          {tensor_name(*slot.owner, slot.any()), words(slot.reference), words(slot.candidate)});
    } else if (auto number = wrapped_number(ops, slot)) {
      wrapped = true;
      unknown = unknown || !number->reference;
      const std::string digests_only = "(a number; only its digest was recorded)";
      reports.push_back({number->name, number->reference.value_or(digests_only),
                         number->candidate.value_or(digests_only)});
    }
  }
  if (reports.empty()) return;
  const bool from_host =
      ops.lane.numbers || (unknown && ops.state.ledger.any(Differing::number)) ||
      std::all_of(reports.begin(), reports.end(),
                  [&](const ArgumentReport& argument) { return derived(ops, argument); });
  if (from_host)
    return ops.propagated(ops.lane.numbers ? *ops.lane.numbers
                                           : *ops.state.ledger.last(Differing::number));
  if (const auto read = read_in_update(ops)) return ops.propagated(*read);
  if (const auto sizes = explained_by_sizes(ops, reports)) return ops.propagated(*sizes);
  if (const auto drawn = picked_by_drawn(ops, reports)) return ops.propagated(*drawn);
  enter_arguments(ops, reports, wrapped);
}

void explain_settings(OpPair& ops) {
  const auto differs_by_itself = [&](const ArgumentReport& argument) {
    return argument.reference && argument.candidate && !derived(ops, argument) &&
           (is_mode(argument.name) || is_setting(argument) ||
            (is_written_fraction(*argument.reference) &&
             is_written_fraction(*argument.candidate)) ||
            is_computed_apart(ops, argument));
  };
  std::vector<ArgumentReport> reports;
  for (const ArgumentReport& argument : ops.arguments.values)
    if (differs_by_itself(argument)) reports.push_back(argument);
  bool wrapped = false;
  for (const SlotPair& slot : ops.slots)
    if (const auto number = wrapped_number(ops, slot); number && differs_by_itself(*number)) {
      wrapped = true;
      reports.push_back(*number);
    }
  if (!reports.empty()) return enter_arguments(ops, reports, wrapped);
  const bool numbers_differ =
      std::any_of(ops.slots.begin(), ops.slots.end(), [](const SlotPair& slot) {
        return slot.match == Match::differs && either(slot, slot_flag::wrapped_number);
      });
  if (ops.why && (numbers_differ || !ops.arguments.values.empty())) keep_argued(ops, *ops.why);
}

}  // namespace ulpscope::comparison

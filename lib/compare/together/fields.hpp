#pragma once

#include "compare/together/messages.hpp"

/// How messages between members of a team are divided into fields. Each structured binding names
/// every field of its type, so one that is added and forgotten here does not compile.
namespace ulpscope {

template <class Archive, class T>
void serialize(Archive& archive, Both<T>& both) {
  auto& [reference, candidate] = both;
  archive(reference, candidate);
}

#define ULPSCOPE_FIELDS(Type, ...)                 \
  template <class Archive>                         \
  void serialize(Archive& archive, Type& object) { \
    auto& [__VA_ARGS__] = object;                  \
    archive(__VA_ARGS__);                          \
  }

ULPSCOPE_FIELDS(Digest, high, low)
ULPSCOPE_FIELDS(Geometry, dtype, device_type, device_index, layout, flags, storage_offset, sizes,
                strides)
ULPSCOPE_FIELDS(Limits, max_ulp, rtol, atol)
ULPSCOPE_FIELDS(RngState, seed, before, after)
ULPSCOPE_FIELDS(ClassCount, reference, candidate)
ULPSCOPE_FIELDS(HistogramBin, lower_bound, count)
ULPSCOPE_FIELDS(WorstElement, index, reference, candidate, bits, bit_width)
ULPSCOPE_FIELDS(OwnBudget, inside, used)
ULPSCOPE_FIELDS(Budget, ulp, inside, why, used, own)
ULPSCOPE_FIELDS(AxisDifference, size, differing, indices)
ULPSCOPE_FIELDS(Difference, elements, differing, ulp_max, ulp_mean, histogram, absolute_max,
                absolute_rms, scaled_max, worst, nan, inf, subnormal, signed_zero, sums_equal,
                budget, axes)
ULPSCOPE_FIELDS(ToleranceResult, inside, rule)
ULPSCOPE_FIELDS(TensorReport, role, index, element, name, dtype, shape, equal, difference,
                tolerance)
ULPSCOPE_FIELDS(ArgumentReport, name, reference, candidate, of)
ULPSCOPE_FIELDS(ModelDifference, root, path, what, reference, candidate)
ULPSCOPE_FIELDS(Neighbour, event, op, module, equal, finding, note)
ULPSCOPE_FIELDS(Absorbed, op, step, event)
ULPSCOPE_FIELDS(Finding, kind, diverges, absorbed, in_outcome, goes_on, shifts_draws, of_file, rank,
                lane, step, phase, root, module, module_type, between, op, overload, meaning,
                parents, children, kernels, forward_op, device, where, source, file, event, tensors,
                arguments, neighbours, notes)
ULPSCOPE_FIELDS(NotCompared, uninitialised, handle, layout, no_bytes, ignored, opaque)
ULPSCOPE_FIELDS(Coverage, aligned, moved, only_reference, only_candidate, not_compared, outcomes,
                outcomes_recorded, roots, unseen)
ULPSCOPE_FIELDS(OutsideValue, step, event, op, module, tensor, ulp_max, absolute_max, scaled_max,
                limits)
ULPSCOPE_FIELDS(GrowthPoint, step, scaled_max, ulp_max, loss)
ULPSCOPE_FIELDS(PathPoint, event, op, module, scaled_max, ulp_max)
ULPSCOPE_FIELDS(Path, step, points)
ULPSCOPE_FIELDS(Propagated, events, steps, note)
ULPSCOPE_FIELDS(OpBudget, op, results, outside, largest_used, why)
ULPSCOPE_FIELDS(ReplaySummary, inside, outside, unjudged, reasons)
ULPSCOPE_FIELDS(BudgetSummary, inside, allowed, outside, without_bytes, without_model, largest_used)

namespace comparison {

ULPSCOPE_FIELDS(TensorEvidence, storage, digest, geometry, flags, alignment, compared,
                rows_permuted, numbers_permuted, repeats, ratio, budget)
ULPSCOPE_FIELDS(Draw, side, op, step, event, where)
ULPSCOPE_FIELDS(SharedMemory, writes, of_siblings)
ULPSCOPE_FIELDS(Picks, places, distances, overflowed)
ULPSCOPE_FIELDS(Evidence, seeded, explicit_generator, rng, draws, more_draws, last_common_draw,
                drawn_alone, seeded_lanes_share, layers_only, threads, on_gpu, event_flags,
                not_compared, unreadable, inside_differs, tensors, budget, blamed, looks_ahead,
                same_tensors, reordered, left_by_ops, left_in_part, factory, for_data,
                written_otherwise, overwritten, left_alone, changed_in_both, uninitialised,
                wrapped_number, same_set_of_data, may_follow, picks, returned, named_otherwise,
                alone, alone_names, alone_storages, alone_written, alone_updates, alone_unwritten,
                alone_casts, moved, updated_again, whole_step, among_updates, alone_draws,
                missing_steps, contributor, own_outside, operands, recomputed, epochs, begins_epoch,
                write_order, shared_memory)
ULPSCOPE_FIELDS(OtherAccumulation, step, parameters, times, ratio)
ULPSCOPE_FIELDS(OtherGradients, step, only)
ULPSCOPE_FIELDS(LateBegin, step, runs)
ULPSCOPE_FIELDS(OtherOrder, container, elements)
ULPSCOPE_FIELDS(RunEvidence, threads, created, accumulation, gradients, models, other_batch,
                other_start, random_hashes, other_orders, late_begin)
ULPSCOPE_FIELDS(ReportedTensor, report, evidence)
ULPSCOPE_FIELDS(Effect, place, tensor, of_data, drawn)
ULPSCOPE_FIELDS(Record, finding, evidence, effect, ranks, copy_of, listed, candidate_step,
                order_step, lane_order, after_forward, order_event, after_order_event, more_in_step,
                repeats, more_ranks)
ULPSCOPE_FIELDS(OutcomeTotals, known, compared, unknown, unfilled, extra, extra_names,
                extra_numbers, extra_saves, unread, extra_draws, shared_generators, exchanged,
                raced, touched_alone, too_many)
ULPSCOPE_FIELDS(Totals, coverage, propagated, ops, aligned_ops, values, given_up, lone_trainers,
                lone_backwards, work_moved, cut_off, reads, verified, data, data_values, operations,
                op_budgets, replay, outcomes, evidence)
ULPSCOPE_FIELDS(ValueSums::RuleCount, passed, failed)
ULPSCOPE_FIELDS(ValueSums, outside, first_outside, unknown, rules, growth, losses, path,
                path_questions)
ULPSCOPE_FIELDS(RankResult, records, found, diverges, beyond_tolerance, budget, beyond_budget,
                missing_steps, totals, values, uncompared_steps, longer, unseen)
ULPSCOPE_FIELDS(ValueQuestion, ranks, digests, geometries, distance, evidence, repeats, limits)
ULPSCOPE_FIELDS(ValueAnswer, known, difference, inside, rows_permuted, numbers_permuted, ratio,
                repeats)
ULPSCOPE_FIELDS(Trouble, item, position, memory, code, what, hint)
ULPSCOPE_FIELDS(RanksMessage::Part, pair, whole, result)
ULPSCOPE_FIELDS(RanksMessage, parts, used_renames, trouble)
ULPSCOPE_FIELDS(QuestionsMessage, over, questions)
ULPSCOPE_FIELDS(AnswersMessage, answers, trouble)

#undef ULPSCOPE_FIELDS

}  // namespace comparison
}  // namespace ulpscope

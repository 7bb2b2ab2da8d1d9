#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "compare/diff/describe.hpp"
#include "compare/diff/rank_state.hpp"

namespace ulpscope::comparison {

/// What distinguishes findings at the same op.
struct Distinction {
  std::uint64_t key = 0;
  /// False if further occurrences inside one step are the same finding (one setting that an
  /// optimizer applies to every parameter).
  bool once_per_step = true;
  /// True if the module it is in makes no difference either.
  bool any_place = false;
  /// True if the op, its phase and the kind make none: what differs shows in several.
  bool any_op = false;
  /// Does not diverge by itself, only once its effect is read.
  bool harmless = false;
};

/// Enters a finding at `at`. `outer` is the aligned item it belongs to, which determines its place
/// in the order. `fill` adds what is specific to the kind, and runs only for a new finding.
Source enter_finding(RankState& state, FindingKind kind, const Scene& scene, EventPair at,
                     EventPair outer, const Distinction& distinction,
                     const std::function<void(Record&)>& fill);

/// There is a finding that another one at `at` would repeat.
[[nodiscard]] bool is_entered(const RankState& state, FindingKind kind, const Scene& scene,
                              EventPair at, const Distinction& distinction);

/// The same for events that only one run has: `order_event` is the position they take, their own or
/// that of the partner before them; empty if there was none yet.
Source enter_alone(RankState& state, FindingKind kind, const Scene& scene, EventPair at,
                   std::optional<std::uint64_t> order_event, const Distinction& distinction,
                   const std::function<void(Record&)>& fill);

/// The event of the window that wrote what a slot reads; kNoIndex: it is in none.
[[nodiscard]] std::uint32_t writer_in_window(const Scene& scene, Side side, const Slot& slot);

/// The event that wrote what a slot reads; an empty event pointer if it was not recorded.
[[nodiscard]] HeldEvent writer_of(const Scene& scene, Side side, const Slot& slot);

/// "last written by aten::add_ at event 12 (step 3)" for what a slot reads, or "" where no recorded
/// op wrote it.
[[nodiscard]] std::string writer_words(const Scene& scene, Side side, const Slot& slot);

/// What the last recorded write left of exactly the memory that a slot reads, without gaps; empty
/// if that write covered other bytes. Its digest is comparable, its views are not valid.
[[nodiscard]] std::optional<Slot> last_write(const Scene& scene, Side side, const Slot& slot);

/// The digest of all that the last recorded write left around what a slot reads; empty if that
/// write left only a part of it.
[[nodiscard]] std::optional<Digest> written_around(const Scene& scene, Side side, const Slot& slot);

/// The op that returned uninitialized memory.
struct Factory {
  std::string words;  ///< "aten::empty at event 7 (step 0)"
  Phase phase = Phase::setup;
  bool in_module = false;
  /// torch::tensor() fills memory that it has allocated, and ends with aten::to: no op can come
  /// between.
  bool of_tensor = false;

  /// Programs fill their batches through raw pointers, between the calls of their model.
  [[nodiscard]] bool for_data() const noexcept {
    const bool between =
        !in_module && (phase == Phase::setup || phase == Phase::data || phase == Phase::eval);
    return of_tensor || between;
  }
};

/// Empty if it is not found among the blocks before the reader.
[[nodiscard]] std::optional<Factory> factory_of(const Scene& scene, Side side, const Event& reader,
                                                const Slot& slot);

/// Recorded ops have written a part of the memory in both runs: the program does not fill it past
/// them.
[[nodiscard]] bool filled_by_ops(const SlotPair& slot);

/// In which phase the last recorded write of a slot's memory was.
[[nodiscard]] std::optional<Phase> phase_of_last_write(const Scene& scene, Side side,
                                                       const Slot& slot);

}  // namespace ulpscope::comparison

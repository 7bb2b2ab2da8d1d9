#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compare/evidence.hpp"
#include "compare/lane_reader.hpp"
#include "compare/op_comparison.hpp"
#include "compare/side.hpp"
#include "compare/window.hpp"

namespace ulpscope::comparison {

/// Both runs' windows of one lane and step, and what is needed to search beyond them.
struct Scene {
  Both<const Run*> runs;
  Both<std::uint32_t> ranks;
  Both<const Lane*> lanes;  ///< never null: a run without the lane shows an empty one
  Both<const Window*> windows;
  std::int64_t step = kSetup;  ///< of the reference
  std::int64_t candidate_step = kSetup;
  /// By the items of the windows: one more than the item in the reference that an item and its
  /// partner are, 0 without a partner that is more than a name. Empty if that is not known
  /// beforehand.
  Both<std::span<const std::uint64_t>> partners;
  std::uint64_t generation = 0;  ///< of windows and partners
};

/// "main", "autograd", "worker 0", "thread 3".
[[nodiscard]] std::string lane_words(const Lane& lane, const Event& event);

/// Place of that lane among the lanes of one position: main, autograd, workers, other threads.
[[nodiscard]] std::uint8_t lane_order(const Lane& lane, const Event& event) noexcept;

/// "train.cpp:41", the innermost call of a stack outside LibTorch and the standard library; if
/// there are only their calls, the innermost; empty without a stack.
[[nodiscard]] std::string place_in_program(std::string_view stack);

/// Everything that a finding says about its location. `at` holds kNoIndex for a run without the
/// event; names come from the reference where it has it.
[[nodiscard]] Finding describe(FindingKind kind, const Scene& scene, EventPair at);

/// Names of the ops and autograd nodes that an event runs inside, outermost first.
[[nodiscard]] std::vector<std::string> callers(const Window& window, std::uint32_t event);

/// Names of the ops that an event calls directly.
[[nodiscard]] std::vector<std::string> inner_names(const Window& window, std::uint32_t event);

/// The name of a tensor: its own, else the schema's.
[[nodiscard]] std::string tensor_name(const Event& event, const Slot& slot);

/// What a report says of a tensor.
[[nodiscard]] ReportedTensor reported(const SlotPair& pair);

/// Lists the tensors of a finding that hold values, keeping the differing ones first if there are
/// very many, together with the evidence for each.
void add_tensors(Record& record, const std::vector<SlotPair>& slots);

/// The module of an event: its own or that of what it runs inside or, in backward, that of the
/// forward op.
struct ModuleName {
  bool known = false;
  std::string root;
  std::string path;
  std::string type;
  /// The calls of modules before and after, if the path is only the call around them.
  std::optional<Both<std::string>> between;
};
[[nodiscard]] ModuleName module_of(const Scene& scene, Side side, std::uint32_t event);

/// Position of the forward op that the backward node around an event belongs to; none if there is
/// no such op.
[[nodiscard]] EventPlace forward_place(const Window& window, std::uint32_t event);

/// That forward op; an empty event pointer if there is none.
[[nodiscard]] HeldEvent forward_of(const Scene& scene, Side side, std::uint32_t event);

}  // namespace ulpscope::comparison

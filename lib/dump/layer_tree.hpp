#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dump/batch.hpp"
#include "dump/names.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::dump {

/// Whether events of this kind name values of the layer tree.
[[nodiscard]] bool is_layer_event(const HeldEvent& event) noexcept;

/// Whether the slot of such an event is an entry of the tree: parameters that a module reads are
/// not.
[[nodiscard]] bool is_layer_slot(const HeldEvent& event, const ring::SlotRow& slot) noexcept;

/// Names the values of layers: "steps/000003/forward/layer1.conv1/0/output.0".
class LayerTree {
 public:
  explicit LayerTree(const RankNames& names) noexcept : names_(names) {}

  /// Counts calls. Sees every event once, in order of position inside its lane, also those that are
  /// not written.
  void note(std::uint32_t lane, std::int64_t step, const RingNames& ring,
            const PlacedEvent& placed);

  struct Entry {
    std::string path;
    const ring::SlotRow* slot;
    bool is_gradient;  ///< may come again in the same step
  };
  /// The entries of an event that note() has seen.
  [[nodiscard]] std::vector<Entry> entries(std::uint32_t lane, std::int64_t step,
                                           const RingNames& ring, const PlacedEvent& placed) const;

  /// What names depend on beyond a step, and back.
  [[nodiscard]] std::vector<std::byte> save() const;
  [[nodiscard]] bool restore(std::span<const std::byte> saved);

 private:
  using Place = std::pair<std::uint32_t, std::uint64_t>;  ///< lane, position
  /// Paths of nested modules are long: a call keeps the numbers of its names.
  struct Call {
    std::uint32_t root;    ///< name, by the number that the rank's names give it
    std::uint32_t module;  ///< likewise
    std::uint32_t number;  ///< among the calls of the same module
  };
  struct Counted {
    std::int64_t step;
    bool eval;
    std::uint32_t root;
    std::uint32_t module;

    friend auto operator<=>(const Counted&, const Counted&) = default;
  };

  [[nodiscard]] std::string prefix(std::string_view root) const;
  [[nodiscard]] std::string module_text(const Call& call) const;
  [[nodiscard]] const Call* call_of(std::uint32_t lane, const HeldEvent& event) const;
  void begin_step(std::int64_t step);

  const RankNames& names_;
  std::optional<std::string> first_root_;             ///< has no prefix
  std::set<std::string> with_parameters_;             ///< roots whose parameters were named before
  std::set<Place> initial_parameters_;                ///< events: the first of their root
  std::map<Place, Call> calls_;                       ///< by the module event
  std::deque<std::pair<std::int64_t, Place>> order_;  ///< of calls_: oldest first, with its step
  std::map<Counted, std::uint32_t> counts_;           ///< calls so far
  std::unordered_map<std::uint32_t, bool>
      escaped_modules_;  ///< whether a path differs from the name
};

}  // namespace ulpscope::dump

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "compare/align/op_comparison.hpp"
#include "compare/diff/finding_book.hpp"
#include "compare/diff/source.hpp"
#include "compare/model/extent.hpp"
#include "compare/model/scene.hpp"
#include "compare/model/side.hpp"

namespace ulpscope::comparison {

/// Follows the values that differ because of a finding, up to the ops that end the difference:
/// those that read it and leave what they leave in the other run.
///
/// A difference leaves once an outcome shows it: a parameter, a buffer, a gradient, what a module
/// returns, a loss, a number that the program reads, a copy to the host, what other ranks receive,
/// a generator's state. So does a value of which no later op takes over all: the program may read
/// its memory itself. Findings whose differences meet in one op are one group, which leaves as a
/// whole.
class Absorption {
 public:
  /// What both runs have in an op, after it was judged.
  struct Compared {
    const Scene& scene;
    EventPair at;
    const std::vector<SlotPair>& slots;
    std::optional<Source> source;  ///< why it differs, if it does and that is known
    bool differs = false;          ///< anything that it read or left does
    bool is_seen = false;          ///< a number that it returns does, or its generator
  };

  void passed(const Compared& op);
  /// An op that only `side` has, and what it calls.
  void passed_alone(const Scene& scene, Side side, std::uint32_t op, const Source& source);
  /// A value that belongs to the outcomes differs.
  void leave(const Slot* reference, const Slot* candidate, const std::optional<Source>& source);
  /// Nothing can be said about where differences end.
  void give_up() noexcept { given_up_ = true; }

  /// Findings of what programs do whose differences have all ended diverge no longer.
  void absorb(FindingBook& book);

 private:
  static constexpr std::size_t kKept = std::size_t{1} << 20;

  /// A value that differs, or that one run alone has.
  struct Written {
    std::uint32_t finding = kNoFinding;
    bool read = false;  ///< all of it, by ops that compute something from it
    bool alone = false;
    std::string op;  ///< if alone
    std::uint64_t position = kNone;
    std::optional<std::int64_t> step;
    Extent extent;
  };
  using Storages = std::unordered_map<std::uint64_t, std::vector<Written>>;
  struct Group {
    std::set<std::uint32_t> findings;
    bool left = false;
    std::map<std::int64_t, Absorbed> ended;  ///< by step, the last op of it
  };

  /// What is in the memory of the slot.
  template <class Take>
  void visit(Side side, const Slot& slot, Take take);
  [[nodiscard]] std::size_t group_of(std::uint32_t finding);
  void join(const std::set<std::uint32_t>& findings);
  void read(Side side, const Window& window, std::uint32_t op, bool takes_over,
            std::set<std::uint32_t>& findings);
  void write(Side side, const Slot& slot, Written written);
  void leave(const std::set<std::uint32_t>& findings);
  void end(std::uint32_t finding, std::int64_t step, Absorbed absorbed);
  void forget(Side side, const Slot& slot);
  void end_what_one_run_made(const Compared& op);

  Both<Storages> written_;
  std::vector<Group> groups_;
  std::unordered_map<std::uint32_t, std::size_t> groups_by_finding_;
  bool given_up_ = false;
};

}  // namespace ulpscope::comparison

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compare/diff/layers/layer_flow.hpp"
#include "compare/diff/source.hpp"
#include "compare/diff/taint.hpp"
#include "compare/model/lane_reader.hpp"
#include "compare/model/side.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// What else than memory is remembered to differ.
enum class Differing : std::uint8_t {
  contents,  ///< a value with these contents: what a program restores without a hook seeing it,
             ///< such as a checkpoint, differs for the same reason as before
  size,      ///< a size of a tensor: what a program makes of the same sizes differs as well
  number,    ///< a number that the program read out of a tensor; what is computed from it reaches
             ///< later ops as arguments
  number_content,    ///< a tensor that holds such a number
  fraction,          ///< such a number that is no count, so that a computed number may be anything
  number_of_update,  ///< such a number that an optimizer reads in a step, as a line search does: it
                     ///< determines what it does next
  drawn_order,       ///< integers that the program draws, such as the order of samples
  arguments,         ///< of a forward op, which its backward has from it
  alone,             ///< an op that the other run lacks, or one that it calls
  of_alone_node,     ///< an op of backward whose node belongs to such an op
  passed_on,         ///< a gradient that such a node passes on as it is
  detached,          ///< an op whose result only the other run detaches: no gradient reaches it
  without_gradient,  ///< memory whose tensor requires a gradient in the other run alone
  gradient_alone,    ///< a parameter that has a gradient in one run alone
  updated_alone,     ///< a parameter that an op without a partner has updated
  updated_by,        ///< an optimizer that has such ops
  part,              ///< a view of other elements than in the other run, as both runs have it
  viewed_part,       ///< a part of memory that an op without a partner has made a view of
  view,  ///< memory that an op without a partner has handed out, or has viewed differently
};

/// Something that differs, and what identifies it.
struct DifferingKey {
  Differing what;
  std::uint64_t identity = 0;
};

/// Keys of the ledger. Positions, storages and steps are unique in a run, so that an entry is never
/// taken for a different one.
namespace differing {
[[nodiscard]] DifferingKey contents(const Digest& reference, const Digest& candidate);
[[nodiscard]] DifferingKey size(std::int64_t reference, std::int64_t candidate);
[[nodiscard]] DifferingKey number(std::string_view reference, std::string_view candidate);
[[nodiscard]] DifferingKey arguments(Side side, EventPlace op);
[[nodiscard]] DifferingKey alone(Side side, EventPlace op);
[[nodiscard]] DifferingKey of_alone_node(Side side, EventPlace op);
/// @param writer of the gradient
[[nodiscard]] DifferingKey passed_on(Side side, EventPlace writer);
[[nodiscard]] DifferingKey detached(Side side, EventPlace op);
/// @param optimizer the event of its step
[[nodiscard]] DifferingKey number_of_update(Side side, EventPlace optimizer);
[[nodiscard]] DifferingKey gradient_alone(std::string_view root, std::string_view parameter,
                                          std::int64_t step);
[[nodiscard]] DifferingKey updated_alone(std::string_view root, std::string_view parameter);
/// The same for any parameter, by the optimizer's number in the run (Event::object).
[[nodiscard]] DifferingKey updated_by(Side side, std::uint64_t optimizer);
/// @param reference with a geometry, as `candidate`
[[nodiscard]] DifferingKey part(const Slot& reference, const Slot& candidate);
/// @param view with a geometry
[[nodiscard]] DifferingKey viewed_part(Side side, const Slot& view, std::int64_t step);
[[nodiscard]] DifferingKey view(Side side, std::uint64_t storage, std::int64_t step);
[[nodiscard]] DifferingKey without_gradient(Side side, std::uint64_t storage, std::int64_t step);
}  // namespace differing

/// Why things differ, as far as that is known while two runs are compared: each entry leads from
/// what differs to the finding that it follows from.
class Ledger {
 public:
  Both<TaintTable> memory;  ///< until something that is equal is written there
  LayerFlow layers;
  std::vector<std::string> layout_noted;  ///< ops whose other layout is already a finding
  bool device_noted = false;

  /// The first reason for a thing is kept, for as long as it is among the last that came up. What
  /// follows from no finding is no reason for what one run does alone.
  void enter(DifferingKey key, const Source& source);
  [[nodiscard]] std::optional<Source> find(DifferingKey key) const;

  /// Something of that kind has been entered.
  [[nodiscard]] bool any(Differing what) const noexcept { return last(what).has_value(); }
  /// The reason that was entered last for something of that kind.
  [[nodiscard]] const std::optional<Source>& last(Differing what) const noexcept {
    return kinds_[static_cast<std::size_t>(what)].last;
  }

  /// A number that the program reads is not the same in both runs.
  void enter_number(const std::string& reference, const std::string& candidate,
                    const Source& source);
  /// The finding for which the program has read these two numbers, if there is one.
  [[nodiscard]] std::optional<Source> explain_number(std::string_view reference,
                                                     std::string_view candidate) const;
  /// The same for two tensors of one element that hold the numbers.
  [[nodiscard]] std::optional<Source> explain_number(const Slot& reference,
                                                     const Slot& candidate) const;
  /// A tensor has other sizes in both runs.
  void enter_sizes(const Geometry& reference, const Geometry& candidate, const Source& source);
  /// Why a number or a list of numbers differs, where all of it that does is a size that is known
  /// to differ.
  [[nodiscard]] std::optional<Source> explain_sizes(std::string_view reference,
                                                    std::string_view candidate) const;

 private:
  static constexpr std::size_t kKinds = static_cast<std::size_t>(Differing::view) + 1;

  using Entries = std::unordered_map<std::uint64_t, Source>;
  struct Kind {
    Entries lately;
    Entries before;  ///< those that came up before the last so many
    std::optional<Source> last;
  };

  std::array<Kind, kKinds> kinds_;
};

}  // namespace ulpscope::comparison

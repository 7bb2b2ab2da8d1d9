#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compare/align/op_comparison.hpp"
#include "compare/diff/source.hpp"
#include "compare/model/lane_reader.hpp"

namespace ulpscope::comparison {

/// One call of a module that both runs make, and why what belongs to it differs.
struct LayerCall {
  EventPlace place;    ///< of the module event in the reference
  EventPlace partner;  ///< the same in the candidate, once it is known
  EventPlace parent;   ///< the call it runs inside
  std::string root;
  std::string path;
  std::string before;  ///< the module that was compared last before it, in words
  bool has_path = false;
  bool has_inner = false;                 ///< calls of other modules run inside it
  bool gradients_seen = false;            ///< a gradient with respect to an output was recorded
  std::optional<Source> inputs;           ///< an input differs
  std::optional<Source> inside;           ///< something that it or a call inside it left differs
  std::optional<Source> gradients;        ///< a gradient with respect to an output differs
  std::optional<Source> inner_gradients;  ///< one at the boundary of a call inside it
  std::optional<Source> backward;         ///< the finding that its backward parts
};

/// How differences reach from layer to layer where ops are not recorded: which values, calls,
/// parameters and gradients are known to differ, and why.
class LayerFlow {
 public:
  /// Forgets the values and calls of steps before the last one.
  void begin_step();

  /// The call at a place of the reference; null if it is not known.
  [[nodiscard]] LayerCall* call(EventPlace place);
  LayerCall& add_call(EventPlace place, EventPlace parent, const Event& module);
  /// Calls of a module in this step or, where it has none, of the nearest module around it.
  [[nodiscard]] std::vector<LayerCall*> calls_of(const std::string& root, std::string path);
  /// Something inside a call differs, hence inside the calls around it.
  void mark_inside(EventPlace place, const Source& source);
  void mark_inner_gradients(EventPlace place, const Source& source);

  /// These two values are known to differ from now on.
  void differs(const SlotPair& slot, const Source& source);
  [[nodiscard]] std::optional<Source> why(const SlotPair& slot) const;
  /// Why the last value that differed in this step did, the gradients of parameters among them.
  [[nodiscard]] const std::optional<Source>& latest() const noexcept { return latest_; }
  /// The same of values that others can follow from in this step.
  [[nodiscard]] const std::optional<Source>& latest_value() const noexcept { return latest_value_; }

  /// True the first time that the parameters of a root are seen.
  bool see_root(const std::string& root) { return roots_.insert(root).second; }
  /// A parameter or buffer is seen.
  void see_parameter(const std::string& root, std::string_view name) {
    known_.emplace(root, std::string(name));
  }
  /// The module of a call, or one inside it, has parameters or buffers.
  [[nodiscard]] bool owns_parameters(const LayerCall& call) const;
  void parameter_differs(const std::string& root, const Slot& parameter, const Source& source);
  /// Its memory may be recorded under other names too: a module is a root until it is registered.
  void parameter_equal(const std::string& root, const Slot& parameter);
  [[nodiscard]] std::optional<Source> why_parameter(const std::string& root,
                                                    const std::string& name) const;
  /// Why a parameter or buffer of a module, or of one inside it, differs.
  [[nodiscard]] std::optional<Source> why_parameters(const LayerCall& call) const;
  [[nodiscard]] std::optional<Source> why_any_parameter() const;
  /// Why each parameter that differs now does.
  [[nodiscard]] std::vector<Source> differing_parameters() const;

  void gradient_differs(const std::string& root, const std::string& name, const Source& source);
  /// Why a parameter's gradient differs, or did in an earlier step.
  [[nodiscard]] std::optional<Source> why_gradient(const std::string& root,
                                                   const std::string& name) const;
  [[nodiscard]] const std::optional<Source>& why_any_gradient() const noexcept {
    return any_gradient_;
  }

  /// Why gradients of a root differed in an earlier step, if its parameters have not been seen
  /// since: the program updates them itself, which is not observed.
  [[nodiscard]] std::optional<Source> why_untold(const std::string& root) const;
  void parameters_told(const std::string& root) {
    untold_.erase(root);
    untold_now_.erase(root);
  }

  /// Calls that only one run makes, in this step.
  void alone(const Source& source) { alone_ = source; }
  [[nodiscard]] const std::optional<Source>& alone() const noexcept { return alone_; }

  /// The module whose call or gradient was compared last in this step, in words.
  std::string last_module;

 private:
  [[nodiscard]] LayerCall* around(const LayerCall& inner);

  using Key = std::pair<std::uint32_t, std::uint64_t>;
  using Named = std::pair<std::string, std::string>;
  using Values = std::map<std::pair<Digest, Digest>, Source>;

  std::map<Key, LayerCall> calls_;
  std::map<Key, LayerCall> calls_before_;
  std::multimap<Named, LayerCall*> calls_by_module_;  ///< of this step
  Values values_;
  Values values_before_;
  std::set<std::string> roots_;
  std::set<Named> known_;  ///< parameters and buffers
  struct Parameter {
    Source source;
    std::uint64_t storage = kNone;  ///< in the reference
  };
  std::map<Named, Parameter> parameters_;
  std::map<Named, Source> gradients_;
  std::map<std::string, Source> untold_;      ///< by root
  std::map<std::string, Source> untold_now_;  ///< the same of this step
  std::optional<Source> any_gradient_;        ///< of this step
  std::optional<Source> latest_;
  std::optional<Source> latest_value_;
  std::optional<Source> alone_;
};

}  // namespace ulpscope::comparison

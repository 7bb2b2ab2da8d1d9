#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compare/align/op_comparison.hpp"
#include "compare/diff/layers/layer_calls.hpp"
#include "compare/diff/source.hpp"

namespace ulpscope::comparison {

/// Which parameters, buffers and their gradients are known to differ where ops are not recorded,
/// and why. Each has the name that its root gives it.
class ParameterFlow {
 public:
  void begin_step();

  /// True the first time that the parameters of a root are recorded.
  bool see_root(const std::string& root);
  /// A parameter or buffer is recorded.
  void see(const std::string& root, std::string_view name) {
    known_.emplace(root, std::string(name));
  }
  /// The module of a call, or one inside it, has parameters or buffers.
  [[nodiscard]] bool are_in(const LayerCall& call) const;

  void differs(const std::string& root, const Slot& parameter, const Source& source);
  /// Its memory may be recorded under other names too: a module is a root until it is registered.
  void equal(const std::string& root, const Slot& parameter);
  [[nodiscard]] std::optional<Source> why(const std::string& root, const std::string& name) const;
  /// Why a parameter or buffer of a module, or of one inside it, differs.
  [[nodiscard]] std::optional<Source> why(const LayerCall& call) const;
  [[nodiscard]] std::optional<Source> why_any() const;
  /// Why each one that differs now does.
  [[nodiscard]] std::vector<Source> why_each() const;

  void gradient_differs(const std::string& root, const std::string& name, const Source& source);
  /// Why a parameter's gradient differs, or did in an earlier step.
  [[nodiscard]] std::optional<Source> why_gradient(const std::string& root,
                                                   const std::string& name) const;
  /// The same of any gradient of this step.
  [[nodiscard]] const std::optional<Source>& why_any_gradient() const noexcept {
    return any_gradient_;
  }
  /// Why gradients of a root differed in an earlier step, if its parameters have not been recorded
  /// since: the program updates them itself, which is not observed.
  [[nodiscard]] std::optional<Source> why_updated(const std::string& root) const;

 private:
  using Named = std::pair<std::string, std::string>;
  struct Parameter {
    Source source;
    std::uint64_t storage = kNone;  ///< in the reference
  };

  std::set<std::string> roots_;
  std::set<Named> known_;
  std::map<Named, Parameter> differing_;
  std::map<Named, Source> gradients_;
  std::map<std::string, Source> updated_;      ///< by root
  std::map<std::string, Source> updated_now_;  ///< the same of this step
  std::optional<Source> any_gradient_;
};

}  // namespace ulpscope::comparison

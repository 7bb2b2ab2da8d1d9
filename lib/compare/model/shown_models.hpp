#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// A parameter or buffer as its model showed it first.
struct ShownTensor {
  Dtype dtype = Dtype::undefined;
  std::vector<std::int64_t> shape;
  bool requires_grad = false;
  struct Held {
    Digest digest;
    std::vector<std::int64_t> strides;
  };
  std::optional<Held> latest;  ///< when it was shown last, if that is known
};

struct ShownModel {
  std::map<std::string, ShownTensor, std::less<>> tensors;       ///< by name
  std::map<std::string, std::string, std::less<>> module_types;  ///< of those called, by path
};

/// The models that one run has shown so far, by their roots.
class ShownModels {
 public:
  void passed(const Event& event);

  [[nodiscard]] const std::map<std::string, ShownModel, std::less<>>& all() const noexcept {
    return models_;
  }
  /// How many have parameters or buffers.
  [[nodiscard]] std::uint64_t count_with_tensors() const noexcept;
  /// What it held when it was shown last; empty if that is not known.
  [[nodiscard]] std::optional<ShownTensor::Held> latest(std::string_view root,
                                                        std::string_view name) const;
  [[nodiscard]] bool contain(std::string_view root, std::string_view name) const;
  /// The parameter or buffer that has memory of its own, by that memory; empty for any other.
  [[nodiscard]] std::string_view name_of(std::uint64_t storage) const;
  /// Whose that is; empty if its name is not known.
  [[nodiscard]] std::string_view root_of(std::uint64_t storage) const;

 private:
  void show(const Event& event, const Slot& slot);
  void hold(const Event& event, const Slot& slot);

  std::map<std::string, ShownModel, std::less<>> models_;
  std::unordered_set<std::uint64_t> seen_;  ///< keys of what is in `models_`
  struct Named {
    std::string root;
    std::string name;  ///< empty: several share the memory
  };
  [[nodiscard]] const Named* of_storage(std::uint64_t storage) const;

  std::unordered_map<std::uint64_t, Named> named_;  ///< by storage
};

}  // namespace ulpscope::comparison

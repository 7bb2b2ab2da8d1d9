#include "compare/diff/model_differences.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

namespace ulpscope::comparison {
namespace {

[[nodiscard]] std::string shape_words(const ShownTensor& tensor) {
  return fmt::format("[{}]", fmt::join(tensor.shape, ", "));
}

[[nodiscard]] std::string tensor_words(const ShownTensor& tensor) {
  return fmt::format("{} {}", name(tensor.dtype), shape_words(tensor));
}

[[nodiscard]] std::string truth(bool value) { return value ? "True" : "False"; }

class RootDifference {
 public:
  RootDifference(std::string root, const ShownModel& reference, const ShownModel& candidate,
                 std::vector<ModelDifference>& found)
      : root_(std::move(root)), models_{&reference, &candidate}, found_(found) {}

  [[nodiscard]] bool share_names() const {
    const auto& reference = models_.reference->tensors;
    return std::any_of(reference.begin(), reference.end(), [this](const auto& one) {
      return models_.candidate->tensors.contains(one.first);
    });
  }

  void root_type(const std::string& reference, const std::string& candidate) {
    add("", ModelAspect::type, reference, candidate);
  }

  void compare_tensors() {
    for (const auto& [path, tensor] : models_.reference->tensors) {
      const auto other = models_.candidate->tensors.find(path);
      if (other == models_.candidate->tensors.end())
        add(path, ModelAspect::tensor, tensor_words(tensor), {});
      else
        compare(path, tensor, other->second);
    }
    for (const auto& [path, tensor] : models_.candidate->tensors)
      if (!models_.reference->tensors.contains(path))
        add(path, ModelAspect::tensor, {}, tensor_words(tensor));
  }

  /// Which modules there are is known of those that were called.
  void compare_types() {
    for (const auto& [path, type] : models_.reference->module_types) {
      const auto other = models_.candidate->module_types.find(path);
      if (other != models_.candidate->module_types.end() && other->second != type)
        add(path, ModelAspect::type, type, other->second);
    }
  }

 private:
  void compare(const std::string& path, const ShownTensor& a, const ShownTensor& b) {
    if (a.shape != b.shape) add(path, ModelAspect::shape, shape_words(a), shape_words(b));
    if (a.dtype != b.dtype)
      add(path, ModelAspect::dtype, std::string(name(a.dtype)), std::string(name(b.dtype)));
    if (a.requires_grad != b.requires_grad)
      add(path, ModelAspect::requires_grad, truth(a.requires_grad), truth(b.requires_grad));
  }

  void add(std::string path, ModelAspect what, std::optional<std::string> reference,
           std::optional<std::string> candidate) {
    found_.push_back({root_, std::move(path), what, std::move(reference), std::move(candidate)});
  }

  std::string root_;
  Both<const ShownModel*> models_;
  std::vector<ModelDifference>& found_;
};

}  // namespace

std::vector<ModelDifference> model_differences(const Both<ShownModels>& models) {
  std::vector<ModelDifference> found;
  const auto& reference = models.reference.all();
  const auto& candidate = models.candidate.all();
  if (reference.size() == 1 && candidate.size() == 1 &&
      reference.begin()->first != candidate.begin()->first) {
    const auto& [root, model] = *reference.begin();
    const auto& [other_root, other] = *candidate.begin();
    RootDifference difference(root, model, other, found);
    difference.root_type(root, other_root);
    if (!difference.share_names()) return found;
    difference.compare_types();
    difference.compare_tensors();
    return found;
  }
  for (const auto& [root, model] : reference) {
    const auto other = candidate.find(root);
    if (other == candidate.end() || model.tensors.empty() || other->second.tensors.empty())
      continue;
    RootDifference difference(root, model, other->second, found);
    difference.compare_types();
    difference.compare_tensors();
  }
  return found;
}

}  // namespace ulpscope::comparison

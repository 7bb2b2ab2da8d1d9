#include "capture/op_tables.hpp"

#include <algorithm>
#include <array>

namespace ulpscope::capture {
namespace {

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) noexcept {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool is_factory(std::string_view op) noexcept {
  return op.starts_with("aten::empty") || op.starts_with("aten::new_empty") ||
         op == "aten::_empty_affine_quantized" || op == "aten::_empty_per_channel_affine_quantized";
}

bool only_overwrites(std::string_view op, std::size_t argument) noexcept {
  constexpr std::array<std::string_view, 14> kFills = {
      "aten::fill_",          "aten::zero_",       "aten::copy_",      "aten::normal_",
      "aten::uniform_",       "aten::random_",     "aten::bernoulli_", "aten::exponential_",
      "aten::cauchy_",        "aten::log_normal_", "aten::geometric_", "aten::_foreach_zero_",
      "aten::_foreach_copy_", "aten::eye_"};
  return argument == 0 && contains(kFills, op);
}

bool is_of_libtorch(std::string_view op) noexcept {
  constexpr auto kNamespaces = std::to_array<std::string_view>({"aten",
                                                                "prim",
                                                                "prims",
                                                                "profiler",
                                                                "quantized",
                                                                "_quantized",
                                                                "mkldnn",
                                                                "onednn",
                                                                "mkldnn_prepacked",
                                                                "prepacked",
                                                                "sparse",
                                                                "c10d",
                                                                "c10d_functional",
                                                                "_c10d_functional",
                                                                "_c10d_functional_autograd",
                                                                "inductor",
                                                                "inductor_prims",
                                                                "rngprims",
                                                                "debugprims",
                                                                "static_runtime",
                                                                "_test",
                                                                "xnnpack",
                                                                "vulkan_prepack",
                                                                "symm_mem",
                                                                "streams"});
  const std::size_t colons = op.find("::");
  return colons == std::string_view::npos || contains(kNamespaces, op.substr(0, colons));
}

bool writes_undeclared(std::string_view op, std::size_t argument) noexcept {
  if (!is_of_libtorch(op)) return true;
  // native_batch_norm(input, weight, bias, running_mean, running_var, ...): the running statistics.
  constexpr std::array<std::string_view, 4> kBatchNorms = {
      "aten::native_batch_norm", "aten::cudnn_batch_norm", "aten::miopen_batch_norm",
      "aten::batch_norm_update_stats"};
  if (!contains(kBatchNorms, op)) return false;
  if (op == "aten::batch_norm_update_stats") return argument == 1 || argument == 2;
  return argument == 3 || argument == 4;
}

bool reads_metadata_only(std::string_view op, std::size_t argument) noexcept {
  constexpr std::array<std::string_view, 9> kLikes = {
      "aten::zeros_like", "aten::ones_like",  "aten::full_like",
      "aten::rand_like",  "aten::randn_like", "aten::randint_like",
      "aten::new_zeros",  "aten::new_ones",   "aten::new_full"};
  if (argument == 1 && op == "aten::reshape_as") return true;
  return argument == 0 && (contains(kLikes, op) || is_factory(op) || op == "aten::lift_fresh");
}

bool rearranges_in_place(std::string_view op) noexcept {
  constexpr std::array<std::string_view, 6> kRearranging = {
      "aten::set_data", "aten::requires_grad_", "aten::retain_grad",
      "aten::rename_",  "aten::_coalesced_",    "aten::record_stream"};
  return contains(kRearranging, op);
}

bool may_copy(std::string_view op) noexcept {
  constexpr std::array<std::string_view, 7> kMayCopy = {
      "aten::contiguous", "aten::to",    "aten::reshape",     "aten::flatten",
      "aten::reshape_as", "aten::ravel", "aten::resolve_conj"};
  return contains(kMayCopy, op);
}

bool computes_through_ops(std::string_view op, std::string_view overload) noexcept {
  constexpr std::array<std::string_view, 25> kWrappers = {"aten::clone",
                                                          "aten::_to_copy",
                                                          "aten::convolution",
                                                          "aten::_convolution",
                                                          "aten::zeros",
                                                          "aten::zeros_like",
                                                          "aten::ones",
                                                          "aten::ones_like",
                                                          "aten::full",
                                                          "aten::full_like",
                                                          "aten::new_zeros",
                                                          "aten::new_ones",
                                                          "aten::new_full",
                                                          "aten::rand",
                                                          "aten::rand_like",
                                                          "aten::randn",
                                                          "aten::randn_like",
                                                          "aten::randint",
                                                          "aten::randint_like",
                                                          "aten::randperm",
                                                          "aten::detach",
                                                          "aten::lift_fresh",
                                                          "aten::contiguous",
                                                          "aten::_batch_norm_impl_index",
                                                          "aten::_batch_norm_impl_index_backward"};
  if (contains(kWrappers, op) && overload.find("out") == std::string_view::npos) return true;
  // `add.Scalar` and similar overloads wrap the number and call `add.Tensor`.
  constexpr std::array<std::string_view, 8> kScalarForms = {
      "aten::add", "aten::add_", "aten::sub", "aten::sub_",
      "aten::mul", "aten::mul_", "aten::div", "aten::div_"};
  return overload == "Scalar" && contains(kScalarForms, op);
}

bool is_scratch(std::string_view op, std::size_t index) noexcept {
  // oneDNN's workspace, different in every run; the reserve of fused dropout and cuDNN.
  if (op == "aten::mkldnn_rnn_layer") return index == 3;
  // log_alpha: nothing writes the rows beyond a sample's own length (native/LossCTC.cpp).
  if (op == "aten::_ctc_loss") return index == 1;
  if (op == "aten::_batch_norm_impl_index") return index == 3;
  // exp(-|x|) for backward on a CPU, no element on a GPU (native/Activation.cpp).
  if (op == "aten::log_sigmoid_forward") return index == 1;
  // Which bag an index is in, sizes of bags, positions of the largest: as many as the kernel needs
  // (native/EmbeddingBag.cpp).
  if (op == "aten::embedding_bag" || op == "aten::_embedding_bag" ||
      op == "aten::_embedding_bag_forward_only")
    return index > 0;
  return false;
}

}  // namespace ulpscope::capture

#include "facts/ops.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "facts/op_table.hpp"

namespace ulpscope::facts {
namespace {

using Words = std::span<const std::string_view>;

constexpr Row kNoRow("", OpClass::other);

[[nodiscard]] bool is_one_of(Words names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

[[nodiscard]] bool has_one_of(Words parts, std::string_view text) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
    return text.find(part) != std::string_view::npos;
  });
}

[[nodiscard]] const Row& row_of(std::string_view plain_name) noexcept {
  const std::span<const Row> rows = op_table();
  const auto at =
      std::lower_bound(rows.begin(), rows.end(), plain_name,
                       [](const Row& row, std::string_view name) { return row.name() < name; });
  return at != rows.end() && at->name() == plain_name ? *at : kNoRow;
}

[[nodiscard]] OpClass class_by_words(std::string_view name) {
  static constexpr auto kRandom = std::to_array<std::string_view>(
      {"normal", "uniform", "bernoulli", "random", "rand", "dropout", "multinomial", "exponential",
       "poisson", "rrelu"});
  static constexpr auto kNormalization =
      std::to_array<std::string_view>({"layer_norm", "group_norm", "batch_norm", "instance_norm"});
  static constexpr auto kElementwise = std::to_array<std::string_view>(
      {"add",     "sub",   "mul",   "div",  "neg",          "relu",     "threshold_backward",
       "clamp",   "rsqrt", "abs",   "lerp", "reciprocal",   "where",    "addcmul",
       "addcdiv", "copy",  "clone", "cat",  "index_select", "gather",   "stack",
       "view",    "t",     "to",    "fill", "zero",         "embedding"});
  static constexpr auto kReduction =
      std::to_array<std::string_view>({"sum", "mean", "prod", "loss", "norm", "var", "std",
                                       "softmax", "logsumexp", "cdist", "cov"});
  static constexpr auto kGemm = std::to_array<std::string_view>(
      {"mm", "matmul", "linear", "baddbmm", "dot", "mv", "einsum", "attention", "lstm"});
  static constexpr auto kTranscendental =
      std::to_array<std::string_view>({"exp", "log", "sin", "cos", "tan", "erf", "sqrt", "pow",
                                       "sigmoid", "silu", "gelu", "softplus", "mish"});
  if (name.starts_with('_')) name.remove_prefix(1);
  if (has_one_of(kRandom, name)) return OpClass::random;
  if (name.find("conv") != std::string_view::npos) return OpClass::convolution;
  if (has_one_of(kNormalization, name)) return OpClass::normalization;
  if (is_one_of(kElementwise, name)) return OpClass::elementwise;
  if (has_one_of(kReduction, name)) return OpClass::reduction;
  if (has_one_of(kGemm, name)) return OpClass::gemm;
  if (has_one_of(kTranscendental, name)) return OpClass::transcendental;
  return OpClass::other;
}

[[nodiscard]] OpClass class_by_model(ErrorModel model) noexcept {
  using enum ErrorModel;
  switch (model) {
    case none:
    case interpolation:
    case sampling:
      return OpClass::other;
    case exact:
    case exact_unless_complex:
    case exact_unless_scaled:
    case quotient:
    case difference_of_products:
    case fused_arithmetic:
    case evenly_spaced:
      return OpClass::elementwise;
    case square_root:
    case function:
    case gated_function:
    case gamma_function:
    case log_odds:
    case function_backward:
    case difference_from_one:
    case halves_backward:
      return OpClass::transcendental;
    case random_numbers:
      return OpClass::random;
    case convolution:
    case convolution_backward:
      return OpClass::convolution;
    case matrix_product:
    case trilinear:
    case attention:
    case attention_backward:
    case recurrent:
    case recurrent_backward:
    case cell_backward:
      return OpClass::gemm;
    case layer_norm:
    case layer_norm_backward:
    case batch_norm:
    case batch_norm_backward:
    case group_norm:
    case group_norm_backward:
    case rms_norm:
    case rms_norm_backward:
    case weight_norm:
    case weight_norm_backward:
      return OpClass::normalization;
    case sum:
    case mean:
    case cumulative_sum:
    case product:
    case margin_loss:
    case positive_sum:
    case nll_loss:
    case pooling:
    case pooling_backward:
    case accumulated_rows:
    case bag_of_rows:
    case fourier:
    case gathered_rows:
    case padding_backward:
    case softmax:
    case log_softmax:
    case softmax_backward:
    case log_softmax_backward:
    case log_sum:
    case ctc_loss:
    case ctc_loss_backward:
      return OpClass::reduction;
  }
  return OpClass::other;
}

}  // namespace

bool multiplies(ErrorModel model) noexcept {
  using enum ErrorModel;
  return model == matrix_product || model == trilinear || model == convolution ||
         model == convolution_backward || model == attention || model == attention_backward;
}

OpClass Row::op_class() const noexcept {
  return model_ == ErrorModel::none ? class_ : class_by_model(model_);
}

Op::Op(std::string_view name) noexcept : row_(&kNoRow), plain_(name) {
  bool of_aten = true;
  if (const std::size_t colons = name.find("::"); colons != std::string_view::npos) {
    of_aten = name.substr(0, colons) == "aten";
    plain_.remove_prefix(colons + 2);
  }
  constexpr std::string_view kForeach = "_foreach_";
  foreach_ = plain_.starts_with(kForeach);
  if (foreach_) plain_.remove_prefix(kForeach.size());
  in_place_ = plain_.ends_with('_') && !plain_.ends_with("__");
  if (in_place_) plain_.remove_suffix(1);
  if (of_aten) row_ = &row_of(plain_);
}

OpClass class_of(std::string_view op) noexcept {
  const Op known(op);
  return known.row().name().empty() ? class_by_words(known.plain_name()) : known.row().op_class();
}

std::string_view backend_of(std::string_view op) noexcept {
  static constexpr auto kBackends = std::to_array<std::string_view>(
      {"mkldnn", "cudnn", "miopen", "slow_conv", "thnn", "flash", "efficient", "fbgemm", "mkl"});
  const auto at = std::find_if(kBackends.begin(), kBackends.end(), [&](std::string_view backend) {
    return op.find(backend) != std::string_view::npos;
  });
  return at == kBackends.end() ? std::string_view() : *at;
}

bool is_compiled(std::string_view op) noexcept {
  static constexpr auto kMarks =
      std::to_array<std::string_view>({"Compiled", "TensorExpr", "FusionGroup", "inductor"});
  return op.starts_with("prim::") || has_one_of(kMarks, op);
}

bool is_of_libtorch(std::string_view op) noexcept {
  static constexpr auto kNamespaces = std::to_array<std::string_view>({"aten",
                                                                       "torch",
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
                                                                       "fsdp",
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
  return colons == std::string_view::npos || is_one_of(kNamespaces, op.substr(0, colons));
}

}  // namespace ulpscope::facts

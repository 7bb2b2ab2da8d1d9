#include "compare/unordered_ops.hpp"

#include <algorithm>
#include <array>

#include "compare/words.hpp"

namespace ulpscope::comparison {
namespace {

/// Ops that add or write in no fixed order outside deterministic mode, from the places in ATen that
/// check for it (aten/src/ATen/native, LibTorch 2.6 to 2.14).
constexpr std::array<std::string_view, 3> kOnCpuThreads{"aten::index_put*",
                                                        "aten::_index_put_impl_", "aten::put_"};
constexpr std::array<std::string_view, 24> kOnGpu{"aten::index_put*",
                                                  "aten::_index_put_impl_",
                                                  "aten::put_",
                                                  "aten::index_add*",
                                                  "aten::index_copy*",
                                                  "aten::index_reduce*",
                                                  "aten::scatter*",
                                                  "aten::_scatter*",
                                                  "aten::bincount",
                                                  "aten::histc",
                                                  "aten::cumsum*",
                                                  "aten::upsample_*_backward",
                                                  "aten::_upsample_*_backward",
                                                  "aten::grid_sampler*_backward",
                                                  "aten::*_pad*d_backward",
                                                  "aten::*_pool*d*_backward",
                                                  "aten::max_unpool*",
                                                  "aten::embedding_dense_backward",
                                                  "aten::_embedding_bag*_backward",
                                                  "aten::_ctc_loss_backward",
                                                  "aten::nll_loss2d_forward",
                                                  "aten::cudnn_convolution*",
                                                  "aten::convolution_backward",
                                                  "aten::_cudnn_rnn_backward"};

template <std::size_t Count>
[[nodiscard]] bool matches(const std::array<std::string_view, Count>& patterns,
                           std::string_view op) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](std::string_view pattern) { return glob_match(pattern, op); });
}

[[nodiscard]] bool runs_on_gpu(const Event& event) {
  return std::any_of(event.slots.begin(), event.slots.end(), [](const Slot& slot) {
    return slot.geometry != nullptr && slot.geometry->device_type == 1;
  });
}

}  // namespace

std::string_view why_unordered(const Event& event) {
  if (event.flags & event_flag::deterministic) return {};
  if (event.flags & event_flag::not_deterministic) return "LibTorch says so itself";
  if (runs_on_gpu(event)) return matches(kOnGpu, event.op) ? "it adds in no fixed order" : "";
  return event.threads > 1 && matches(kOnCpuThreads, event.op)
             ? "its threads write in no fixed order"
             : "";
}

}  // namespace ulpscope::comparison

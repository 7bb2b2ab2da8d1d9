#include "compare/measure/recorded_call.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "compare/measure/tensor_bytes.hpp"
#include "compare/model/device.hpp"
#include "compare/model/value_match.hpp"
#include "core/cpu_level.hpp"
#include "core/elements.hpp"

namespace ulpscope::comparison {
namespace {

/// An op that can draw has not drawn if its generator's state is known to be unchanged.
[[nodiscard]] bool may_draw(const Event& event) {
  return (event.flags & event_flag::seeded) != 0 &&
         (event.rng.before == Digest{} || event.rng.before != event.rng.after);
}

/// A result that can be compared with a replayed one.
[[nodiscard]] bool is_told(const Slot& slot) {
  constexpr std::uint32_t kAside = slot_flag::undefined | slot_flag::no_digest | slot_flag::view |
                                   slot_flag::uninitialised | slot_flag::scratch |
                                   slot_flag::handle | slot_flag::opaque | slot_flag::metadata_only;
  constexpr std::uint16_t kOther = geometry_flag::sparse | geometry_flag::quantised;
  return slot.role != Role::input && !(slot.flags & kAside) && slot.geometry != nullptr &&
         slot.geometry->layout == 0 && !(slot.geometry->flags & kOther) &&
         (slot.flags & slot_flag::has_content);
}

/// Adds one of the op's inputs; a failure in words, or empty.
[[nodiscard]] std::string add_input(const Run& run, std::uint32_t rank, const Slot& slot,
                                    RecordedCall& call) {
  constexpr std::uint32_t kUnread = slot_flag::overwritten | slot_flag::metadata_only;
  ReplayTensor tensor = place_of(slot);
  if (tensor.defined) {
    const Geometry& geometry = *slot.geometry;
    if (geometry.layout != 0 || geometry.strides.size() != geometry.sizes.size() ||
        (geometry.flags & (geometry_flag::sparse | geometry_flag::quantised)))
      return "an input is no dense tensor";
    if (!(slot.flags & kUnread) && (slot.flags & slot_flag::no_digest))
      return "what it reads was not recorded";
    tensor.wrapped_number = (slot.flags & slot_flag::wrapped_number) != 0;
    tensor.requires_grad = (slot.flags & slot_flag::requires_grad) != 0;
    tensor.strides = strides_in_packed(geometry);
    tensor.memory_strides = geometry.strides;
    tensor.alignment = slot.alignment;
    if (geometry.device_type == kCudaDevice)
      tensor.gpu = std::max<std::int16_t>(geometry.device_index, 0);
    const std::uint64_t expected = packed_bytes(geometry);
    if (!(slot.flags & kUnread) && expected > 0) {
      auto bytes = run.content(rank, slot.digest);
      call.lacks_bytes = !bytes || bytes->size() != expected;
      if (call.lacks_bytes) return "the bytes of an input are not in the dump";
      tensor.bytes = std::move(*bytes);
    }
  }
  call.request.inputs.push_back(std::move(tensor));
  return {};
}

/// Adds what it draws from; a failure in words, or empty.
[[nodiscard]] std::string add_generator(const Run& run, std::uint32_t rank, const Event& event,
                                        RecordedCall& call) {
  auto state = event.rng.before == Digest{} ? std::nullopt : run.content(rank, event.rng.before);
  call.lacks_bytes = !state;
  if (!state) return "it draws random numbers, and its generator's state is not in the dump";
  call.request.generator = std::move(*state);
  return {};
}

/// An expanded tensor of more elements is not written out.
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 33;

/// Variables that can change the bits of an op.
constexpr std::array<std::string_view, 19> kVariables = {"ATEN_CPU_CAPABILITY",
                                                         "CUBLAS_WORKSPACE_CONFIG",
                                                         "DNNL_DEFAULT_FPMATH_MODE",
                                                         "DNNL_MAX_CPU_ISA",
                                                         "KMP_DETERMINISTIC_REDUCTION",
                                                         "MKL_CBWR",
                                                         "MKL_DYNAMIC",
                                                         "MKL_ENABLE_INSTRUCTIONS",
                                                         "MKL_NUM_THREADS",
                                                         "NVIDIA_TF32_OVERRIDE",
                                                         "OMP_DYNAMIC",
                                                         "OMP_NUM_THREADS",
                                                         "ONEDNN_DEFAULT_FPMATH_MODE",
                                                         "ONEDNN_MAX_CPU_ISA",
                                                         "OPENBLAS_CORETYPE",
                                                         "OPENBLAS_NUM_THREADS",
                                                         "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
                                                         "TORCH_MKLDNN_MATMUL_MIN_DIM",
                                                         "TORCH_MKLDNN_MATMUL_MIN_SIZE"};

/// The value of ATEN_CPU_CAPABILITY that gives a level of kernels; empty for one that this machine
/// cannot run or that has no such value.
[[nodiscard]] std::string capability_variable(std::string_view level) {
  if (level == "DEFAULT" || level == "NO AVX") return "default";
  if (level == "AVX2" && core::supported(core::CpuLevel::avx2)) return "avx2";
  if (level == "AVX512" && core::supported(core::CpuLevel::avx512)) return "avx512";
  return {};
}

}  // namespace

ReplayTensor place_of(const Slot& slot) {
  ReplayTensor place;
  place.role = slot.role;
  place.index = slot.index;
  place.element = slot.element;
  place.defined = !(slot.flags & slot_flag::undefined) && slot.geometry != nullptr;
  if (place.defined) {
    place.dtype = slot.geometry->dtype;
    place.sizes = slot.geometry->sizes;
  }
  return place;
}

std::vector<std::int64_t> strides_in_packed(const Geometry& geometry) {
  const std::vector<std::int64_t> shape = packed_shape(geometry);
  std::vector<std::int64_t> strides = packed_strides(geometry, shape);
  for (std::size_t d = 0; d < strides.size(); ++d)
    if (shape[d] != geometry.sizes[d]) strides[d] = 0;
  return strides;
}

RecordedCall recorded_call(const Run& run, std::uint32_t rank, const Event& event) {
  RecordedCall call;
  if (event.flags & (event_flag::threw | event_flag::unfinished))
    call.failure = "it did not end";
  else if (may_draw(event))
    call.failure = add_generator(run, rank, event, call);
  if (!call.failure.empty()) return call;
  call.request.op = event.op;
  call.request.overload = event.overload;
  call.request.arguments.assign(event.argument_bytes.begin(), event.argument_bytes.end());
  for (const Slot& slot : event.slots) {
    if (is_told(slot)) call.results.push_back(&slot);
    if (slot.role != Role::input) continue;
    call.failure = add_input(run, rank, slot, call);
    if (!call.failure.empty()) return call;
  }
  return call;
}

std::optional<ReplayTensor> recorded_tensor(const Run& run, std::uint32_t rank, const Slot& slot) {
  ReplayTensor tensor = place_of(slot);
  if (!tensor.defined || (slot.flags & slot_flag::no_digest) ||
      slot.geometry->strides.size() != slot.geometry->sizes.size() ||
      element_count(*slot.geometry) > kMostElements)
    return std::nullopt;
  const std::uint64_t expected = packed_bytes(*slot.geometry);
  if (expected > 0) {
    auto bytes = run.content(rank, slot.digest);
    if (!bytes || bytes->size() != expected) return std::nullopt;
    tensor.bytes = std::move(*bytes);
  }
  tensor.strides = strides_in_packed(*slot.geometry);
  return in_row_major_order(tensor);
}

ReplayTensor in_row_major_order(const ReplayTensor& tensor) {
  ReplayTensor ordered = tensor;
  std::int64_t elements = 1;
  for (std::size_t d = tensor.sizes.size(); d-- > 0;) {
    ordered.strides[d] = elements;
    elements *= tensor.sizes[d];
  }
  const std::size_t size = element_size(tensor.dtype);
  if (ordered.strides == tensor.strides || tensor.bytes.empty() || size == 0) return ordered;
  ordered.bytes.resize(static_cast<std::size_t>(elements) * size);
  std::byte* target = ordered.bytes.data();
  core::for_each_element<1>(tensor.sizes, {tensor.strides}, [&](std::int64_t offset) {
    std::memcpy(target, tensor.bytes.data() + static_cast<std::size_t>(offset) * size, size);
    target += size;
  });
  return ordered;
}

std::string setting(const Run& run, std::uint32_t rank, std::int64_t step, std::string_view key) {
  std::string value;
  for (const EnvironmentEntry& entry : run.environment(rank))
    if (entry.key == key && entry.step <= step) value = entry.value;
  return value;
}

ReplayConditions recorded_conditions(const Run& run, std::uint32_t rank, std::int64_t step,
                                     const Event& event) {
  const auto is = [&](std::string_view key, std::string_view value) {
    return setting(run, rank, step, key) == value;
  };
  ReplayConditions conditions;
  conditions.threads = event.threads;
  conditions.deterministic = (event.flags & event_flag::deterministic) != 0;
  conditions.deterministic_warns =
      conditions.deterministic && is("flag.deterministic_algorithms", "warn");
  conditions.fill_uninitialized = !is("flag.fill_uninitialized", "off");
  conditions.mkldnn = !is("flag.mkldnn.enabled", "off");
  conditions.mkldnn_deterministic = is("flag.mkldnn.deterministic", "on");
  constexpr std::array<std::string_view, 3> kPrecisions = {
      "flag.mkldnn.conv_precision", "flag.mkldnn.matmul_precision", "flag.mkldnn.rnn_precision"};
  for (std::size_t k = 0; k < kPrecisions.size(); ++k)
    for (const char* precision : {"ieee", "tf32", "bf16"})
      if (is(kPrecisions[k], precision)) conditions.mkldnn_precision[k] = precision;
  conditions.sdp_flash = !is("flag.sdp.flash", "off");
  conditions.sdp_math = !is("flag.sdp.math", "off");
  conditions.sdp_mem_efficient = !is("flag.sdp.mem_efficient", "off");
  conditions.sdp_cudnn = !is("flag.sdp.cudnn", "off");
  for (const char* precision : {"high", "medium"})
    if (is("flag.matmul_precision", precision)) conditions.matmul_precision = precision;
  conditions.on_gpu = runs_on_gpu(event);
  conditions.cudnn = !is("flag.cudnn.enabled", "off");
  conditions.cudnn_benchmark = is("flag.cudnn.benchmark", "on");
  conditions.cudnn_deterministic = is("flag.cudnn.deterministic", "on");
  conditions.cudnn_tf32 = !is("flag.cudnn.allow_tf32", "off");
  conditions.cublas_fp16_reduction = !is("flag.cublas.allow_fp16_reduced_precision", "off");
  conditions.cublas_bf16_reduction = !is("flag.cublas.allow_bf16_reduced_precision", "off");
  conditions.cublas_fp16_accumulation = is("flag.cublas.allow_fp16_accumulation", "on");
  conditions.grad_mode = (event.flags & event_flag::grad_mode) != 0;
  conditions.inference_mode = (event.flags & event_flag::inference_mode) != 0;
  conditions.autocast = (event.flags & event_flag::autocast) != 0;
  conditions.autocast_other = (event.flags & event_flag::autocast_other) != 0;
  conditions.flush_denormal = (event.flags & event_flag::flush_denormal) != 0;
  conditions.layout = TensorLayout::recorded;
  return conditions;
}

ReplayStart recorded_start(const Run& run, std::uint32_t rank) {
  ReplayStart start;
  for (const std::string_view name : kVariables) {
    const std::string value = setting(run, rank, kSetup, "env." + std::string(name));
    start.environment.push_back(
        {std::string(name), value.empty() ? std::nullopt : std::optional(value)});
  }
  const std::string level = capability_variable(setting(run, rank, kSetup, "cpu.capability"));
  if (!level.empty()) start.environment.push_back({"ATEN_CPU_CAPABILITY", level});
  return start;
}

}  // namespace ulpscope::comparison

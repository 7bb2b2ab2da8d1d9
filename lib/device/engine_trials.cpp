#include "device/engine_trials.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/elements.hpp"
#include "device/rounded.hpp"
#include "ulpscope/error.hpp"
#include "ulpscope/ulp.hpp"

namespace ulpscope::device {
namespace {

using Bytes = std::vector<std::byte>;

[[nodiscard]] Error misfit() {
  return {ErrorCode::usage, "a recorded convolution's bytes, sizes and strides do not fit"};
}

[[nodiscard]] std::size_t count_of(const RecordedTensor& tensor) {
  std::size_t count = 1;
  for (const std::int64_t size : tensor.sizes)
    if (size < 0 || __builtin_mul_overflow(count, static_cast<std::size_t>(size), &count))
      throw misfit();
  return count;
}

/// Memory that a tensor's gaps may take, as a multiple of its elements.
constexpr std::size_t kMostGaps = 16;

/// Where each of `count` elements is, in row-major order.
[[nodiscard]] std::vector<std::size_t> places_of(const RecordedTensor& tensor, std::size_t count) {
  if (tensor.strides.size() != tensor.sizes.size() || count_of(tensor) != count) throw misfit();
  std::vector<std::size_t> places;
  if (count == 0) return places;
  std::int64_t farthest = 0;
  for (std::size_t d = 0; d < tensor.sizes.size(); ++d) {
    std::int64_t way = 0;
    if (__builtin_mul_overflow(tensor.sizes[d] - 1, tensor.strides[d], &way) || way < 0 ||
        __builtin_add_overflow(farthest, way, &farthest))
      throw misfit();
  }
  if (static_cast<std::size_t>(farthest) / kMostGaps >= count) throw misfit();
  places.reserve(count);
  core::for_each_element<1>(tensor.sizes, {tensor.strides}, [&](std::int64_t place) {
    places.push_back(static_cast<std::size_t>(place));
  });
  return places;
}

/// Memory of the device, released at the end.
class DeviceMemory {
 public:
  DeviceMemory(const EngineFunctions& functions, std::size_t bytes)
      : functions_(&functions),
        memory_(functions.allocate(std::max<std::size_t>(bytes, 1))),
        bytes_(bytes) {}
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() {
    if (memory_ != nullptr) functions_->release(memory_);
  }

  [[nodiscard]] void* data() const noexcept { return memory_; }
  [[nodiscard]] std::span<std::byte> bytes() const noexcept {
    return {static_cast<std::byte*>(memory_), memory_ == nullptr ? 0 : bytes_};
  }

 private:
  const EngineFunctions* functions_;
  void* memory_;
  std::size_t bytes_;
};

/// A tensor of the convolution in the memory of the device, laid out as recorded.
class PlacedTensor {
 public:
  /// `count` elements, as many as its bytes hold or as are to be computed.
  PlacedTensor(const EngineFunctions& functions, const RecordedTensor& tensor, std::size_t count,
               std::size_t element_bytes)
      : functions_(functions),
        tensor_(tensor),
        element_bytes_(element_bytes),
        places_(places_of(tensor, count)),
        laid_out_((places_.empty() ? 0 : *std::ranges::max_element(places_) + 1) * element_bytes),
        memory_(functions, laid_out_.size()) {
    for (std::size_t i = 0; i < places_.size() && !tensor.bytes.empty(); ++i)
      std::memcpy(&laid_out_[places_[i] * element_bytes], &tensor.bytes[i * element_bytes],
                  element_bytes);
  }

  /// Copies it to the device; results are filled with NaNs there.
  [[nodiscard]] bool put() {
    if (tensor_.bytes.empty()) std::ranges::fill(laid_out_, std::byte{0xff});
    return memory_.data() != nullptr && functions_.copy_in(memory_.data(), laid_out_);
  }

  /// The content on the device, row-major; empty if a kernel has failed.
  [[nodiscard]] std::optional<Bytes> get() {
    if (!functions_.copy_out(laid_out_, memory_.data())) return std::nullopt;
    Bytes bytes(places_.size() * element_bytes_);
    for (std::size_t i = 0; i < places_.size(); ++i)
      std::memcpy(&bytes[i * element_bytes_], &laid_out_[places_[i] * element_bytes_],
                  element_bytes_);
    return bytes;
  }

  [[nodiscard]] ConvolutionTensor view() const {
    return {tensor_.sizes, tensor_.strides, memory_.data()};
  }

 private:
  const EngineFunctions& functions_;
  const RecordedTensor& tensor_;
  std::size_t element_bytes_;
  std::vector<std::size_t> places_;
  Bytes laid_out_;
  DeviceMemory memory_;
};

/// Which of the three a convolution computes.
template <class Tensor>
[[nodiscard]] Tensor& computed_among(ConvolutionKind kind, Tensor& image, Tensor& filter,
                                     Tensor& response) {
  if (kind == ConvolutionKind::forward) return response;
  return kind == ConvolutionKind::image_gradient ? image : filter;
}

[[nodiscard]] const RecordedTensor& computed_of(const RecordedConvolution& convolution) {
  return computed_among(convolution.kind, convolution.image, convolution.filter,
                        convolution.response);
}

/// How many elements a tensor has by its bytes; for a result, as many as the recorded results have.
[[nodiscard]] std::size_t elements(const RecordedConvolution& convolution,
                                   const RecordedTensor& tensor, std::size_t computed) {
  const std::size_t size = element_size(convolution.dtype);
  if (&tensor == &computed_of(convolution)) return computed;
  if (tensor.bytes.size() % size != 0) throw misfit();
  return tensor.bytes.size() / size;
}

/// A convolution whose tensors are on the device, and cuDNN's engines for it.
class OpenConvolution {
 public:
  OpenConvolution(const EngineFunctions& functions, const RecordedConvolution& convolution,
                  std::size_t computed)
      : functions_(functions),
        image_(functions, convolution.image, elements(convolution, convolution.image, computed),
               element_size(convolution.dtype)),
        filter_(functions, convolution.filter, elements(convolution, convolution.filter, computed),
                element_size(convolution.dtype)),
        response_(functions, convolution.response,
                  elements(convolution, convolution.response, computed),
                  element_size(convolution.dtype)),
        computed_(computed_among(convolution.kind, image_, filter_, response_)) {
    if (!image_.put() || !filter_.put() || !response_.put()) {
      failure_ = "its tensors do not fit into the device's memory";
      return;
    }
    const Convolution told{convolution.kind,   convolution.dtype,   image_.view(),
                           filter_.view(),     response_.view(),    convolution.padding,
                           convolution.stride, convolution.dilation};
    int status = 0;
    engines_ = functions.open(told, status);
    if (engines_ == nullptr)
      failure_ = std::string("cuDNN refuses it: ") + functions.status_text(status);
  }
  OpenConvolution(const OpenConvolution&) = delete;
  OpenConvolution& operator=(const OpenConvolution&) = delete;
  ~OpenConvolution() {
    if (engines_ != nullptr) functions_.close(engines_);
  }

  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }
  [[nodiscard]] std::int64_t count() const noexcept {
    return engines_ == nullptr ? 0 : functions_.count(engines_);
  }

  /// Computes it once by one engine; empty if that did not run.
  [[nodiscard]] std::optional<Bytes> compute(std::int64_t engine, std::span<std::byte> workspace,
                                             EngineRun& run) {
    if (!computed_.put()) return std::nullopt;
    run = functions_.run(engines_, engine, workspace, nullptr);
    return run.enqueued ? computed_.get() : std::nullopt;
  }

 private:
  const EngineFunctions& functions_;
  PlacedTensor image_;
  PlacedTensor filter_;
  PlacedTensor response_;
  PlacedTensor& computed_;
  EngineSet* engines_ = nullptr;
  std::string failure_;
};

template <class Format>
[[nodiscard]] double value_of(const std::byte* at) {
  typename Format::Bits bits;
  std::memcpy(&bits, at, sizeof(bits));
  return Format::to_double(bits);
}

template <class Format>
[[nodiscard]] Bytes widened(const Bytes& bytes) {
  using Bits = typename Format::Bits;
  Bytes result(bytes.size() / sizeof(Bits) * sizeof(double));
  for (std::size_t i = 0; i < bytes.size() / sizeof(Bits); ++i) {
    const double number = value_of<Format>(&bytes[i * sizeof(Bits)]);
    std::memcpy(&result[i * sizeof(double)], &number, sizeof(number));
  }
  return result;
}

template <class Format>
[[nodiscard]] Bytes all_rounded(const Bytes& bytes) {
  using Bits = typename Format::Bits;
  Bytes result(bytes.size() / sizeof(double) * sizeof(Bits));
  for (std::size_t i = 0; i < bytes.size() / sizeof(double); ++i) {
    double number = 0;
    std::memcpy(&number, &bytes[i * sizeof(double)], sizeof(number));
    const Bits bits = rounded<Format>(number);
    std::memcpy(&result[i * sizeof(Bits)], &bits, sizeof(bits));
  }
  return result;
}

/// Calls `use` with the format of a dtype that cuDNN convolves.
template <class Use>
[[nodiscard]] auto with_format(Dtype dtype, Use&& use) {
  if (dtype == Dtype::float16) return use(Float16{});
  if (dtype == Dtype::bfloat16) return use(BFloat16{});
  if (dtype == Dtype::float64) return use(Float64{});
  return use(Float32{});
}

[[nodiscard]] Bytes widened(Dtype dtype, const Bytes& bytes) {
  return with_format(
      dtype, [&](auto format) { return widened<std::remove_cvref_t<decltype(format)>>(bytes); });
}

[[nodiscard]] Bytes rounded(Dtype dtype, const Bytes& bytes) {
  return with_format(dtype, [&](auto format) {
    return all_rounded<std::remove_cvref_t<decltype(format)>>(bytes);
  });
}

/// The convolution in float64, rounded once to its dtype: by the first engine that runs.
[[nodiscard]] std::optional<Bytes> exact(const EngineFunctions& functions,
                                         const RecordedConvolution& convolution,
                                         std::size_t computed, std::span<std::byte> workspace) {
  RecordedConvolution wide = convolution;
  wide.dtype = Dtype::float64;
  for (RecordedTensor* tensor : {&wide.image, &wide.filter, &wide.response})
    tensor->bytes = widened(convolution.dtype, tensor->bytes);
  OpenConvolution open(functions, wide, computed);
  for (std::int64_t engine = 0; engine < open.count(); ++engine) {
    EngineRun run;
    if (const auto bytes = open.compute(engine, workspace, run))
      return rounded(convolution.dtype, *bytes);
  }
  return std::nullopt;
}

[[nodiscard]] std::string why_not(const EngineFunctions& functions, const EngineRun& run,
                                  std::size_t workspace) {
  if (run.enqueued) return "it failed while it ran";
  if (run.status != 0) return functions.status_text(run.status);
  return run.workspace > workspace ? "it needs more workspace" : "no memory";
}

}  // namespace

EngineOutcomes try_engines(const EngineFunctions& functions, const RecordedConvolution& convolution,
                           std::span<const std::span<const std::byte>> results,
                           const EngineOptions& options) {
  EngineOutcomes outcomes;
  const std::vector<std::int64_t>& shape = computed_of(convolution).sizes;
  if (results.empty()) throw misfit();
  const std::size_t count = results.front().size() / element_size(convolution.dtype);
  for (const std::span<const std::byte> result : results)
    if (result.size() != count * element_size(convolution.dtype)) throw misfit();
  const DeviceMemory workspace(functions, options.workspace);
  OpenConvolution open(functions, convolution, count);
  if (!open.failure().empty()) {
    outcomes.failure = open.failure();
    return outcomes;
  }
  const auto right = exact(functions, convolution, count, workspace.bytes());

  std::vector<EngineTrial> trials;
  for (std::int64_t engine = 0; engine < open.count(); ++engine) {
    EngineOutcome& outcome = outcomes.engines.emplace_back();
    outcome.trial.engine = engine;
    std::optional<Bytes> bytes;
    for (int repeat = 0; repeat < options.repeats; ++repeat) {
      bytes = open.compute(engine, workspace.bytes(), outcome.run);
      if (!bytes) break;
      outcome.trial.repeats.push_back(digest(*bytes));
      if (repeat > 0) continue;
      for (std::size_t run = 0; run < results.size() && run < outcome.trial.to_runs.size(); ++run)
        outcome.trial.to_runs[run] = difference(convolution.dtype, shape, {}, results[run], *bytes);
      if (right) outcome.from_float64 = difference(convolution.dtype, shape, {}, *right, *bytes);
    }
    outcome.trial.noted_deterministic = (outcome.run.notes & kNondeterministic) == 0;
    if (!bytes) {
      outcome.trial.repeats.clear();
      outcome.why_not = why_not(functions, outcome.run, workspace.bytes().size());
      continue;
    }
    trials.push_back(outcome.trial);
  }
  for (std::size_t run = 0; run < results.size() && run < outcomes.used.size(); ++run)
    outcomes.used[run] = used_engine(trials, digest(results[run]), run);
  return outcomes;
}

}  // namespace ulpscope::device

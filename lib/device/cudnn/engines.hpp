#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ulpscope/dtype.hpp"

/// What libulpscope_cudnn.so offers: every engine that cuDNN has for a convolution, one by one. It
/// needs cuDNN 9 and is opened by name where a convolution is to be replayed, for which
/// device/engine_trials.hpp calls it.
namespace ulpscope::device {

enum class ConvolutionKind : std::uint8_t {
  forward,          ///< writes the response
  image_gradient,   ///< writes the image
  filter_gradient,  ///< writes the filter
};

/// In the memory of the device. Dimensions are cuDNN's: batch, channels, then space; of a filter
/// output channels, input channels of a group, then space.
struct ConvolutionTensor {
  std::span<const std::int64_t> sizes;
  std::span<const std::int64_t> strides;  // elements
  void* data = nullptr;
};

/// A recorded convolution: a cross-correlation, as LibTorch computes it. The number of groups
/// follows from the channels of image and filter.
struct Convolution {
  ConvolutionKind kind = ConvolutionKind::forward;
  Dtype dtype =
      Dtype::float32;  // float16, bfloat16, float32 or float64; sums are in float32 or more
  ConvolutionTensor image;
  ConvolutionTensor filter;
  ConvolutionTensor response;
  std::span<const std::int64_t> padding;  // of each spatial dimension
  std::span<const std::int64_t> stride;
  std::span<const std::int64_t> dilation;
};

/// What cuDNN says of an engine, as bits of EngineRun::notes.
enum EngineNote : std::uint32_t {
  kNondeterministic = 1U << 0,
  kTensorCores = 1U << 1,
  kConvertsInputsDown = 1U << 2,  ///< TF32 and similar conversions
  kReducedPrecisionSums = 1U << 3,
  kFourier = 1U << 4,
  kWinograd = 1U << 5,
};

struct EngineRun {
  bool enqueued = false;
  int status = 0;               ///< a `cudnnStatus_t`: why not; 0 if workspace was too small
  std::uint32_t notes = 0;      ///< EngineNote
  std::uint64_t workspace = 0;  ///< bytes that it needs
};

/// A convolution that is described to cuDNN.
class EngineSet;

struct EngineFunctions {
  static constexpr std::uint32_t kVersion = 2;

  std::uint32_t version;
  std::uint32_t library;  ///< cuDNN's own version, 91200: 9.12.0

  /// Why nothing can run here, in CUDA's words; null if there is a device.
  const char* (*problem)() noexcept;

  /// Memory of the current device; null if there is not enough. Copies wait for everything that is
  /// enqueued on the default stream, and return whether that succeeded.
  void* (*allocate)(std::size_t bytes) noexcept;
  void (*release)(void* memory) noexcept;
  bool (*copy_in)(void* to, std::span<const std::byte> from) noexcept;
  bool (*copy_out)(std::span<std::byte> to, const void* from) noexcept;

  /// Null if cuDNN rejects the convolution; `status` says why. Spans are read before this
  /// returns, tensors must stay.
  EngineSet* (*open)(const Convolution& convolution, int& status) noexcept;
  void (*close)(EngineSet* engines) noexcept;
  /// Engines are numbered from 0 on. Not every one supports every shape and device.
  std::int64_t (*count)(const EngineSet* engines) noexcept;
  /// Enqueues the convolution by one engine, with its default knobs, on a `cudaStream_t`.
  EngineRun (*run)(EngineSet* engines, std::int64_t engine, std::span<std::byte> workspace,
                   void* stream) noexcept;
  /// What cuDNN calls a status.
  const char* (*status_text)(int status) noexcept;
};

}  // namespace ulpscope::device

extern "C" {
/// Null if the library is not of this version.
__attribute__((visibility("default"))) const ulpscope::device::EngineFunctions*
ulpscope_cudnn_functions(std::uint32_t version);
}

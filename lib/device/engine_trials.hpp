#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/cudnn/engines.hpp"
#include "device/engine_ranking.hpp"
#include "ulpscope/difference.hpp"
#include "ulpscope/dtype.hpp"

/// Runs a recorded convolution with every engine that cuDNN has for it.
namespace ulpscope::device {

/// A tensor of a recorded convolution. Its layout is kept, since it decides which engines there
/// are.
struct RecordedTensor {
  std::vector<std::int64_t> sizes;    ///< as ConvolutionTensor::sizes
  std::vector<std::int64_t> strides;  ///< elements; no two elements in one place
  std::vector<std::byte> bytes;       ///< row-major; none of the tensor that is computed
};

struct RecordedConvolution {
  ConvolutionKind kind = ConvolutionKind::forward;
  Dtype dtype = Dtype::float32;  ///< float16, bfloat16, float32 or float64
  RecordedTensor image;
  RecordedTensor filter;
  RecordedTensor response;
  std::vector<std::int64_t> padding;  ///< of each spatial dimension, as the two below
  std::vector<std::int64_t> stride;
  std::vector<std::int64_t> dilation;
};

/// An engine and what became of it.
struct EngineOutcome {
  EngineTrial trial;  ///< without repeats where the engine did not run
  EngineRun run;
  std::string why_not;                     ///< a word on why it did not run
  std::optional<Difference> from_float64;  ///< of the first repeat, as candidate
};

struct EngineOutcomes {
  std::vector<EngineOutcome> engines;  ///< in cuDNN's order; empty with a `failure`
  std::string failure;                 ///< why there are none, in words
  std::array<UsedEngine, 2> used;      ///< by the first and the second run
};

struct EngineOptions {
  int repeats = 3;
  std::uint64_t workspace = std::uint64_t{1} << 30;  ///< bytes that an engine may have
};

/// Runs every engine on the recorded inputs. `results` are what one or two runs recorded, row-major
/// and of one size. The correct numbers are an engine's results in float64, rounded once; unknown
/// if cuDNN has no such engine.
/// @throws Error with ErrorCode::usage if bytes, sizes and strides do not match.
[[nodiscard]] EngineOutcomes try_engines(const EngineFunctions& functions,
                                         const RecordedConvolution& convolution,
                                         std::span<const std::span<const std::byte>> results,
                                         const EngineOptions& options = {});

}  // namespace ulpscope::device

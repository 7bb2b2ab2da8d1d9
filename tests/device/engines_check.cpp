/// Every engine that cuDNN has for small convolutions: its notes, whether three
/// repeats agree, and how far it is from the convolution computed in float64.
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "device/cudnn/engines.hpp"
#include "device/engine_trials.hpp"
#include "tests/device/gpu.hpp"

namespace {

using namespace ulpscope::test;
using namespace ulpscope::device;
using Dims = std::array<std::int64_t, 4>;

constexpr Dims kImage{2, 8, 14, 14};
constexpr Dims kFilter{16, 8, 3, 3};
constexpr Dims kResponse{2, 16, 14, 14};

constexpr Dims strides_of(const Dims& sizes) {
  return {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1};
}
std::size_t place(const Dims& sizes, std::int64_t a, std::int64_t b, std::int64_t c,
                  std::int64_t d) {
  return static_cast<std::size_t>(((a * sizes[1] + b) * sizes[2] + c) * sizes[3] + d);
}
std::size_t count_of(const Dims& sizes) { return place(sizes, sizes[0], 0, 0, 0); }

/// Adds every product of the convolution to the place that its kind determines.
std::vector<double> exact(ConvolutionKind kind, const std::vector<float> (&tensors)[3]) {
  const auto written = static_cast<std::size_t>(kind == ConvolutionKind::forward          ? 2
                                                : kind == ConvolutionKind::image_gradient ? 0
                                                                                          : 1);
  std::vector<double> result(tensors[written].size(), 0.0);
  for (std::int64_t n = 0; n < kResponse[0]; ++n)
    for (std::int64_t k = 0; k < kResponse[1]; ++k)
      for (std::int64_t y = 0; y < kResponse[2]; ++y)
        for (std::int64_t x = 0; x < kResponse[3]; ++x)
          for (std::int64_t c = 0; c < kFilter[1]; ++c)
            for (std::int64_t v = 0; v < 3; ++v)
              for (std::int64_t u = 0; u < 3; ++u) {
                const std::int64_t row = y + v - 1;
                const std::int64_t column = x + u - 1;
                if (row < 0 || row >= kImage[2] || column < 0 || column >= kImage[3]) continue;
                const std::size_t at[3] = {place(kImage, n, c, row, column),
                                           place(kFilter, k, c, v, u),
                                           place(kResponse, n, k, y, x)};
                double product = 1;
                for (std::size_t i = 0; i < 3; ++i)
                  if (i != written) product *= double{tensors[i][at[i]]};
                result[at[written]] += product;
              }
  return result;
}

const EngineFunctions& engine_functions(const char* path) {
  void* const library = dlopen(path, RTLD_NOW);
  if (library == nullptr) fail("libulpscope_cudnn.so", dlerror());
  const auto get = reinterpret_cast<decltype(&ulpscope_cudnn_functions)>(
      dlsym(library, "ulpscope_cudnn_functions"));
  const EngineFunctions* const found = get == nullptr ? nullptr : get(EngineFunctions::kVersion);
  if (found == nullptr) fail("libulpscope_cudnn.so", "it is of another version");
  return *found;
}

std::vector<std::byte> bytes_of(const std::vector<float>& numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}

/// Runs all engines for one kind of convolution.
void check_kind(const EngineFunctions& functions, ConvolutionKind kind, const char* called) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> tensors[3];
  const Dims* const sizes[3] = {&kImage, &kFilter, &kResponse};
  RecordedConvolution convolution;
  convolution.kind = kind;
  convolution.padding = convolution.stride = convolution.dilation = {1, 1};
  RecordedTensor* const recorded[3] = {&convolution.image, &convolution.filter,
                                       &convolution.response};
  for (std::size_t i = 0; i < 3; ++i) {
    tensors[i].resize(count_of(*sizes[i]));
    for (float& number : tensors[i]) number = normal(random);
    const Dims strides = strides_of(*sizes[i]);
    *recorded[i] = {{sizes[i]->begin(), sizes[i]->end()},
                    {strides.begin(), strides.end()},
                    bytes_of(tensors[i])};
  }
  const std::size_t written = kind == ConvolutionKind::forward          ? 2
                              : kind == ConvolutionKind::image_gradient ? 0
                                                                        : 1;
  recorded[written]->bytes.clear();
  const std::vector<double> wide = exact(kind, tensors);
  const std::vector<std::byte> expected = bytes_of({wide.begin(), wide.end()});
  const std::span<const std::byte> results[1] = {expected};
  const EngineOutcomes outcomes = try_engines(functions, convolution, results);
  if (!outcomes.failure.empty()) fail(called, outcomes.failure.c_str());

  std::size_t ran = 0;
  for (const EngineOutcome& outcome : outcomes.engines) {
    const EngineTrial& trial = outcome.trial;
    if (trial.repeats.empty()) continue;
    ++ran;
    const double furthest = trial.to_runs[0].scaled_max.value_or(INFINITY);
    std::printf("%s, engine %lld: notes %#x, %s, %.2g of the largest number from float64\n", called,
                static_cast<long long>(trial.engine), outcome.run.notes,
                repeats_agree(trial) ? "repeats agree" : "repeats differ", furthest);
    // Wide enough for inputs of 10 bits of mantissa, too narrow for anything that is wrong.
    if (!(furthest < 0.02)) fail(called, "an engine is far from float64");
    if (!outcome.from_float64 || outcome.from_float64->scaled_max.value_or(INFINITY) > 0.02)
      fail(called, "cuDNN's float64 is far from the host's");
    if (trial.noted_deterministic && !repeats_agree(trial))
      fail(called, "an engine is not as deterministic as it says");
  }
  std::printf("%s: %zu of %zu engines ran\n", called, ran, outcomes.engines.size());
  if (ran == 0) fail(called, "no engine ran");
}

}  // namespace

int main(int count, char** words) {
  skip_without_gpu();
  if (count != 2) fail("engines_check", "name libulpscope_cudnn.so");
  const EngineFunctions& engines = engine_functions(words[1]);
  check_kind(engines, ConvolutionKind::forward, "forward");
  check_kind(engines, ConvolutionKind::image_gradient, "image gradient");
  check_kind(engines, ConvolutionKind::filter_gradient, "filter gradient");
  std::printf("all engines are what they say\n");
}

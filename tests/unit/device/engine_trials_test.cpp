#include "device/engine_trials.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "tests/support/host_engines.hpp"
#include "ulpscope/error.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::device;
using namespace ulpscope::test;

constexpr std::size_t kElement = sizeof(float);

std::vector<std::byte> random_numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(count);
  for (float& number : numbers) number = normal(random);
  std::vector<std::byte> bytes(count * kElement);
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

/// 2 groups, padding, stride 2 in one dimension; the image channels last.
RecordedConvolution convolution(ConvolutionKind kind) {
  RecordedConvolution made;
  made.kind = kind;
  made.padding = {1, 1};
  made.stride = {1, 2};
  made.dilation = {1, 1};
  made.image = {{2, 4, 6, 7}, {168, 1, 28, 4}, random_numbers(336, 1)};
  made.filter = {{6, 2, 3, 3}, {18, 9, 3, 1}, random_numbers(108, 2)};
  made.response = {{2, 6, 6, 4}, {144, 24, 4, 1}, random_numbers(288, 3)};
  RecordedTensor& computed = kind == ConvolutionKind::forward          ? made.response
                             : kind == ConvolutionKind::image_gradient ? made.image
                                                                       : made.filter;
  computed.bytes.clear();
  return made;
}

/// What an engine of the host makes of it, row-major.
std::vector<std::byte> result_of(const RecordedConvolution& convolution, std::size_t elements,
                                 std::int64_t engine) {
  const EngineFunctions& host = host_engines();
  struct Whole {
    RecordedTensor tensor;
    std::vector<std::byte> memory;
  };
  // Row-major layouts: results do not depend on their place.
  std::vector<Whole> whole;
  for (const RecordedTensor* tensor :
       {&convolution.image, &convolution.filter, &convolution.response}) {
    Whole& one = whole.emplace_back(Whole{*tensor, tensor->bytes.empty()
                                                       ? std::vector<std::byte>(elements * kElement)
                                                       : tensor->bytes});
    std::int64_t stride = 1;
    for (std::size_t d = 4; d-- > 0; stride *= one.tensor.sizes[d]) one.tensor.strides[d] = stride;
  }
  const auto view = [&](std::size_t i) {
    return ConvolutionTensor{whole[i].tensor.sizes, whole[i].tensor.strides,
                             whole[i].memory.data()};
  };
  int status = 0;
  EngineSet* const engines =
      host.open({convolution.kind, convolution.dtype, view(0), view(1), view(2),
                 convolution.padding, convolution.stride, convolution.dilation},
                status);
  REQUIRE(engines != nullptr);
  static_cast<void>(host.run(engines, engine, {}, nullptr));
  host.close(engines);
  return whole[convolution.kind == ConvolutionKind::forward          ? 2
               : convolution.kind == ConvolutionKind::image_gradient ? 0
                                                                     : 1]
      .memory;
}

EngineOutcomes outcomes_of(ConvolutionKind kind, std::size_t elements,
                           const std::vector<std::int64_t>& engines) {
  const RecordedConvolution recorded = convolution(kind);
  std::vector<std::vector<std::byte>> results;
  for (const std::int64_t engine : engines)
    results.push_back(result_of(recorded, elements, engine));
  const std::vector<std::span<const std::byte>> views(results.begin(), results.end());
  return try_engines(host_engines(), recorded, views, {.repeats = 2, .workspace = 1024});
}

}  // namespace

TEST_SUITE("engine trials") {
  TEST_CASE("the engine that each run used is told by its bits") {
    for (const auto& [kind, elements] :
         {std::pair{ConvolutionKind::forward, 288}, std::pair{ConvolutionKind::image_gradient, 336},
          std::pair{ConvolutionKind::filter_gradient, 108}}) {
      const EngineOutcomes outcomes =
          outcomes_of(kind, static_cast<std::size_t>(elements), {kBackwards, kForwards});
      CHECK(outcomes.failure.empty());
      REQUIRE(outcomes.engines.size() == kHostEngines);
      CHECK(outcomes.used[0].match == EngineMatch::bits);
      CHECK(outcomes.used[0].engine == kBackwards);
      CHECK(outcomes.used[1].match == EngineMatch::bits);
      CHECK(outcomes.used[1].engine == kForwards);
      CHECK(outcomes.engines[kBackwards].trial.to_runs[0].differing == 0);
      CHECK(outcomes.engines[kBackwards].trial.to_runs[1].differing > 0);
    }
  }

  TEST_CASE("repeats tell an engine that gives other bits each time") {
    const EngineOutcomes outcomes = outcomes_of(ConvolutionKind::forward, 288, {kForwards});
    CHECK(repeats_agree(outcomes.engines[kForwards].trial));
    CHECK_FALSE(repeats_agree(outcomes.engines[kEitherWay].trial));
    CHECK(outcomes.engines[kForwards].trial.noted_deterministic);
    CHECK_FALSE(outcomes.engines[kEitherWay].trial.noted_deterministic);
    CHECK(outcomes.used[0].others == std::vector<std::int64_t>{kEitherWay});
  }

  TEST_CASE("an engine that does not run says why") {
    const EngineOutcomes outcomes = outcomes_of(ConvolutionKind::forward, 288, {kForwards});
    CHECK(outcomes.engines[kRefuses].trial.repeats.empty());
    CHECK(outcomes.engines[kRefuses].why_not == "NOT_SUPPORTED");
    CHECK(outcomes.engines[kTooLarge].why_not == "it needs more workspace");
  }

  TEST_CASE("how far an engine is from float64 is told") {
    const EngineOutcomes outcomes = outcomes_of(ConvolutionKind::forward, 288, {kForwards});
    REQUIRE(outcomes.engines[kForwards].from_float64.has_value());
    const Difference& apart = *outcomes.engines[kForwards].from_float64;
    CHECK(apart.differing > 0);
    CHECK(apart.scaled_max.value_or(1) < 1e-6);
  }

  TEST_CASE("what cuDNN refuses gives its reason and no engines") {
    RecordedConvolution recorded = convolution(ConvolutionKind::forward);
    recorded.padding = {1, 1, 1};
    const std::vector<std::byte> result(288 * kElement);
    const std::span<const std::byte> results[1] = {result};
    const EngineOutcomes outcomes = try_engines(host_engines(), recorded, results);
    CHECK(outcomes.engines.empty());
    CHECK(outcomes.failure == "cuDNN refuses it: BAD_PARAM");
  }

  TEST_CASE("bytes that do not fit the sizes are refused") {
    const std::vector<std::byte> result(288 * kElement);
    const std::span<const std::byte> results[1] = {result};
    const auto refuses = [&](const auto& damage) {
      RecordedConvolution recorded = convolution(ConvolutionKind::forward);
      damage(recorded);
      CHECK_THROWS_AS(static_cast<void>(try_engines(host_engines(), recorded, results)), Error);
    };
    refuses([](auto& recorded) { recorded.image.bytes.pop_back(); });
    refuses([](auto& recorded) { recorded.filter.sizes[0] = 7; });
    refuses([](auto& recorded) { recorded.response.sizes[0] = std::int64_t{1} << 62; });
    refuses([](auto& recorded) { recorded.image.strides[0] = std::int64_t{1} << 61; });
    refuses([](auto& recorded) { recorded.image.strides[1] = -1; });
  }
}

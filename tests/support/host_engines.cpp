#include "tests/support/host_engines.hpp"

#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace ulpscope::device {

class EngineSet {
 public:
  explicit EngineSet(const Convolution& convolution)
      : kind_(convolution.kind),
        dtype_(convolution.dtype),
        image_(convolution.image),
        filter_(convolution.filter),
        response_(convolution.response) {
    for (std::size_t d = 0; d < 2; ++d) {
      padding_[d] = convolution.padding[d];
      stride_[d] = convolution.stride[d];
      dilation_[d] = convolution.dilation[d];
    }
  }

  void compute(bool backwards) const {
    if (dtype_ == Dtype::float64)
      add_up<double>(backwards);
    else
      add_up<float>(backwards);
  }

  bool turn = false;

 private:
  struct Placed {
    explicit Placed(const ConvolutionTensor& tensor) : data(tensor.data) {
      for (std::size_t d = 0; d < 4; ++d) {
        sizes[d] = tensor.sizes[d];
        strides[d] = tensor.strides[d];
      }
    }
    template <class Number>
    [[nodiscard]] Number& at(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) const {
      return static_cast<Number*>(
          data)[a * strides[0] + b * strides[1] + c * strides[2] + d * strides[3]];
    }
    std::array<std::int64_t, 4> sizes{};
    std::array<std::int64_t, 4> strides{};
    void* data;
  };

  /// Every product of an image's and a filter's element belongs to one of the response.
  template <class Number>
  void add_up(bool backwards) const {
    const Placed& written = kind_ == ConvolutionKind::forward          ? response_
                            : kind_ == ConvolutionKind::image_gradient ? image_
                                                                       : filter_;
    for (std::int64_t a = 0; a < written.sizes[0]; ++a)
      for (std::int64_t b = 0; b < written.sizes[1]; ++b)
        for (std::int64_t c = 0; c < written.sizes[2]; ++c)
          for (std::int64_t d = 0; d < written.sizes[3]; ++d) written.at<Number>(a, b, c, d) = 0;
    const std::array<std::int64_t, 7> counts{
        response_.sizes[0], response_.sizes[1], response_.sizes[2], response_.sizes[3],
        filter_.sizes[1],   filter_.sizes[2],   filter_.sizes[3]};
    std::int64_t products = 1;
    for (const std::int64_t count : counts) products *= count;
    for (std::int64_t i = 0; i < products; ++i)
      add<Number>(counts, backwards ? products - 1 - i : i);
  }

  template <class Number>
  void add(const std::array<std::int64_t, 7>& counts, std::int64_t product) const {
    std::array<std::int64_t, 7> at{};
    for (std::size_t d = counts.size(); d-- > 0; product /= counts[d]) at[d] = product % counts[d];
    const auto [n, k, y, x, c, v, u] = at;
    const std::int64_t row = y * stride_[0] - padding_[0] + v * dilation_[0];
    const std::int64_t column = x * stride_[1] - padding_[1] + u * dilation_[1];
    if (row < 0 || row >= image_.sizes[2] || column < 0 || column >= image_.sizes[3]) return;
    const std::int64_t groups = image_.sizes[1] / filter_.sizes[1];
    const std::int64_t group = k / (filter_.sizes[0] / groups);
    auto& image = image_.at<Number>(n, group * filter_.sizes[1] + c, row, column);
    auto& filter = filter_.at<Number>(k, c, v, u);
    auto& response = response_.at<Number>(n, k, y, x);
    if (kind_ == ConvolutionKind::forward)
      response += image * filter;
    else if (kind_ == ConvolutionKind::image_gradient)
      image += response * filter;
    else
      filter += response * image;
  }

  ConvolutionKind kind_;
  Dtype dtype_;
  Placed image_;
  Placed filter_;
  Placed response_;
  std::array<std::int64_t, 2> padding_{};
  std::array<std::int64_t, 2> stride_{};
  std::array<std::int64_t, 2> dilation_{};
};

}  // namespace ulpscope::device

namespace ulpscope::test {
namespace {

using namespace device;

constexpr int kNotSupported = 3000;
constexpr int kBadParameter = 2000;

EngineSet* open(const Convolution& convolution, int& status) noexcept {
  const bool known = (convolution.dtype == Dtype::float32 || convolution.dtype == Dtype::float64) &&
                     convolution.padding.size() == 2;
  status = known ? 0 : kBadParameter;
  return known ? new EngineSet(convolution) : nullptr;
}

EngineRun run(EngineSet* engines, std::int64_t engine, std::span<std::byte> workspace,
              void* /*stream*/) noexcept {
  EngineRun run;
  if (engine == kRefuses) {
    run.status = kNotSupported;
    return run;
  }
  if (engine == kTooLarge) {
    run.workspace = workspace.size() + 1;
    return run;
  }
  if (engine == kEitherWay) run.notes = kNondeterministic;
  engines->turn = !engines->turn;
  engines->compute(engine == kBackwards || (engine == kEitherWay && engines->turn));
  run.enqueued = true;
  return run;
}

constexpr EngineFunctions kFunctions{
    .version = EngineFunctions::kVersion,
    .library = 91200,
    .problem = []() noexcept -> const char* { return nullptr; },
    .allocate = &std::malloc,
    .release = &std::free,
    .copy_in =
        [](void* to, std::span<const std::byte> from) noexcept {
          std::memcpy(to, from.data(), from.size());
          return true;
        },
    .copy_out =
        [](std::span<std::byte> to, const void* from) noexcept {
          std::memcpy(to.data(), from, to.size());
          return true;
        },
    .open = &open,
    .close = [](EngineSet* engines) noexcept { delete engines; },
    .count = [](const EngineSet* /*engines*/) noexcept -> std::int64_t { return kHostEngines; },
    .run = &run,
    .status_text =
        [](int status) noexcept { return status == kNotSupported ? "NOT_SUPPORTED" : "BAD_PARAM"; },
};

}  // namespace

const EngineFunctions& host_engines() noexcept { return kFunctions; }

}  // namespace ulpscope::test

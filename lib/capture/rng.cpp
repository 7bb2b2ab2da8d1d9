#include "capture/rng.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/core/Generator.h>

#include <array>
#include <cstring>
#include <mutex>

namespace ulpscope::capture {
namespace {

struct State {
  std::uint64_t seed;
  std::uint32_t left;
  std::uint32_t next;
  std::array<std::uint32_t, at::MERSENNE_STATE_N> words;
  double next_double_normal;
  float next_float_normal;
  std::uint32_t cached;  ///< bit 0: next_float_normal holds a sample, bit 1: next_double_normal
};

/// Both query the host's side of the generator. While a graph is captured they are rejected.
RngFingerprint cuda_fingerprint(const at::Generator& generator) {
  try {
    const struct {
      std::uint64_t seed;
      std::uint64_t offset;
    } state{generator.current_seed(), generator.unsafeGetGeneratorImpl()->get_offset()};
    return {
        .seed = state.seed, .state = digest(std::as_bytes(std::span(&state, 1))), .known = true};
  } catch (...) {
    return {};
  }
}

}  // namespace

RngFingerprint fingerprint(const at::Generator& generator) {
  if (!generator.defined()) return {};
  if (generator.device().type() == at::kCUDA) return cuda_fingerprint(generator);
  if (generator.device().type() != at::kCPU) return {};
  auto* engine = at::check_generator<at::CPUGeneratorImpl>(generator);
  const std::unique_lock lock(engine->mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return {};

  const at::mt19937_data_pod data = engine->engine().data();
  State state{};
  state.seed = data.seed_;
  state.left = static_cast<std::uint32_t>(data.left_);
  state.next = data.next_;
  state.words = data.state_;
  if (const auto sample = engine->next_float_normal_sample()) {
    state.next_float_normal = *sample;
    state.cached |= 1;
  }
  if (const auto sample = engine->next_double_normal_sample()) {
    state.next_double_normal = *sample;
    state.cached |= 2;
  }
  return {.seed = data.seed_, .state = digest(std::as_bytes(std::span(&state, 1))), .known = true};
}

RngFingerprint default_fingerprint(c10::Device device) {
  if (device.type() == at::kCPU) return fingerprint(at::detail::getDefaultCPUGenerator());
  if (device.type() != at::kCUDA) return {};
  try {
    return fingerprint(at::globalContext().defaultGenerator(device));
  } catch (...) {
    return {};
  }
}

}  // namespace ulpscope::capture

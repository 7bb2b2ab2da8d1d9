#include "replay/generator.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>

#include <cstring>
#include <optional>

#include "core/generator_state.hpp"
#include "replay/refuse.hpp"

namespace ulpscope::replay {
namespace {

template <class State>
State state_in(std::span<const std::byte> bytes) {
  State state;
  if (bytes.size() != sizeof state) refuse("it draws on a different device than it is replayed on");
  std::memcpy(&state, bytes.data(), sizeof state);
  return state;
}

void set(at::CPUGeneratorImpl& generator, const core::CpuGeneratorState& state) {
  using State = core::CpuGeneratorState;
  at::mt19937 engine(state.seed);
  engine.set_data({.seed_ = state.seed,
                   .left_ = static_cast<int>(state.left),
                   .seeded_ = true,
                   .next_ = state.next,
                   .state_ = state.words});
  // A place outside of the words, in a damaged dump, would be read.
  if (!engine.is_valid() || state.next + state.left > at::MERSENNE_STATE_N + 1)
    refuse("its generator's state is damaged");
  generator.set_engine(engine);
  generator.set_next_float_normal_sample(
      state.cached & State::kHasFloat ? std::optional(state.next_float_normal) : std::nullopt);
  generator.set_next_double_normal_sample(
      state.cached & State::kHasDouble ? std::optional(state.next_double_normal) : std::nullopt);
}

}  // namespace

void set_default_generator(c10::Device device, std::span<const std::byte> state) {
  if (device.is_cuda()) {
    const auto [seed, offset] = state_in<core::GpuGeneratorState>(state);
    at::Generator generator = at::globalContext().defaultGenerator(device);
    generator.set_current_seed(seed);
    generator.set_offset(offset);
  } else {
    set(*at::check_generator<at::CPUGeneratorImpl>(at::detail::getDefaultCPUGenerator()),
        state_in<core::CpuGeneratorState>(state));
  }
}

}  // namespace ulpscope::replay

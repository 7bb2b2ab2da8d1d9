#pragma once

#include <cstdint>
#include <vector>

#include "compare/report/causes/case.hpp"

/// The diagnosis rules, one function per cause id. Each returns its cause only if the recorded
/// evidence supports it, and lists evidence against it.
namespace ulpscope::comparison::causes {

// start and data
std::optional<Cause> init(const Case&);
std::optional<Cause> weights(const Case&);
std::optional<Cause> data_order(const Case&);
std::optional<Cause> data_content(const Case&);
std::optional<Cause> uninitialised(const Case&);
std::optional<Cause> external_write(const Case&);
std::optional<Cause> alias(const Case&);
std::optional<Cause> race(const Case&);
std::optional<Cause> epoch(const Case&);
std::optional<Cause> worker(const Case&);

// random numbers
std::optional<Cause> rng_seed(const Case&);
std::optional<Cause> rng_shift(const Case&);
std::optional<Cause> rng_device(const Case&);
std::optional<Cause> rng_size(const Case&);
std::optional<Cause> thread_rng(const Case&);
std::optional<Cause> recompute(const Case&);

// how an op is computed
std::optional<Cause> threads(const Case&);
std::optional<Cause> isa(const Case&);
std::optional<Cause> library(const Case&);
std::optional<Cause> backend(const Case&);
std::optional<Cause> algorithm(const Case&);
std::optional<Cause> flush_denormal(const Case&);
std::optional<Cause> tf32(const Case&);
std::optional<Cause> alignment(const Case&);
std::optional<Cause> atomic(const Case&);
std::optional<Cause> layout(const Case&);
std::optional<Cause> collective(const Case&);

// which elements an op picks or writes
std::optional<Cause> ties(const Case&);
std::optional<Cause> duplicate_index(const Case&);
std::optional<Cause> int_cast(const Case&);
std::optional<Cause> int32_index(const Case&);

// how a step of training is put together
std::optional<Cause> gradient_accumulation(const Case&);
std::optional<Cause> scale_of_gradients(const Case&);
std::optional<Cause> skipped_step(const Case&);
std::optional<Cause> backward_order(const Case&);
std::optional<Cause> hash_order(const Case&);
std::optional<Cause> compiled(const Case&);

// what the program requests
std::optional<Cause> argument(const Case&);
std::optional<Cause> mode(const Case&);
std::optional<Cause> buffer_update(const Case&);
std::optional<Cause> resume(const Case&);
std::optional<Cause> other_model(const Case&);
std::optional<Cause> structure(const Case&);
std::optional<Cause> harmless_rewrite(const Case&);
std::optional<Cause> dtype(const Case&);
std::optional<Cause> reduced_precision(const Case&);
std::optional<Cause> batch_size(const Case&);
std::optional<Cause> scale(const Case&);
std::optional<Cause> nan(const Case&);

/// All causes of a finding, the most certain first; `unknown` where no rule speaks.
[[nodiscard]] std::vector<Cause> diagnose(const Case& of);

}  // namespace ulpscope::comparison::causes

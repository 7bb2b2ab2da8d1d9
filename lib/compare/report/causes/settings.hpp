#pragma once

#include <string_view>

namespace ulpscope::comparison {

/// Groups of settings that act through one mechanism.
enum class Setting { threads, isa, library, precision, backend, random, launch, other };

/// The group of a setting, by its key: "threads.intra_op", "env.MKL_CBWR".
[[nodiscard]] Setting setting_of(std::string_view key);

}  // namespace ulpscope::comparison

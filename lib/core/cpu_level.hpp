#pragma once

#include <array>

namespace ulpscope::core {

/// Instruction sets that kernels are compiled for. Every level computes the same bits.
enum class CpuLevel { baseline, avx2, avx512 };
inline constexpr std::array kCpuLevels{CpuLevel::baseline, CpuLevel::avx2, CpuLevel::avx512};

/// Whether this machine runs code compiled for `level`, and this library has it.
[[nodiscard]] bool supported(CpuLevel level) noexcept;

/// The highest supported level.
[[nodiscard]] CpuLevel best_level() noexcept;

}  // namespace ulpscope::core

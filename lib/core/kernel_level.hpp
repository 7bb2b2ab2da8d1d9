#pragma once

/// Kernel sources are compiled once per instruction set, with ULPSCOPE_KERNEL_LEVEL set to
/// Baseline, Avx2 or Avx512. ULPSCOPE_KERNEL(kDigest) then names kDigestBaseline and so on.
#define ULPSCOPE_KERNEL_JOIN(name, level) name##level
#define ULPSCOPE_KERNEL_EXPAND(name, level) ULPSCOPE_KERNEL_JOIN(name, level)
#define ULPSCOPE_KERNEL(name) ULPSCOPE_KERNEL_EXPAND(name, ULPSCOPE_KERNEL_LEVEL)

#pragma once

#include <cstdint>

/// What libulpscope_cupti.so offers: it reports which kernels are launched on a GPU, by any caller,
/// as they are launched. It is opened by name if requested, so that nothing else needs CUPTI.
namespace ulpscope::device {

/// A kernel is about to be launched by the calling thread. `symbol` is its name as the linker knows
/// it, valid during the call; null for the launch of a whole graph.
using OnLaunch = void (*)(const char* symbol) noexcept;

struct LaunchFunctions {
  static constexpr std::uint32_t kVersion = 1;

  std::uint32_t version;

  /// From now on each launch is reported. False if CUPTI cannot be used: there is no GPU, or a
  /// profiler is using it. No profiler can use it while it is in use here.
  bool (*begin)(OnLaunch tell) noexcept;
  void (*end)() noexcept;

  /// Why `begin` failed last, in CUPTI's words.
  const char* (*trouble)() noexcept;
};

}  // namespace ulpscope::device

extern "C" {
/// Null if the library is not of this version.
__attribute__((visibility("default"))) const ulpscope::device::LaunchFunctions*
ulpscope_launch_functions(std::uint32_t version);
}

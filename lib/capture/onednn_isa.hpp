#pragma once

#include <string>
#include <string_view>

namespace ulpscope::capture {

/// The instruction set that oneDNN uses, in the spelling of ONEDNN_MAX_CPU_ISA: the widest one that
/// the processor has and that the variable allows. LibTorch does not expose oneDNN's own answer.
///
/// @param cpu_flags of /proc/cpuinfo, separated by blanks.
/// @param limit what ONEDNN_MAX_CPU_ISA, else DNNL_MAX_CPU_ISA says; empty: no limit.
/// @return empty if oneDNN would use none of its x86 kernels.
[[nodiscard]] std::string onednn_isa(std::string_view cpu_flags, std::string_view limit);

}  // namespace ulpscope::capture

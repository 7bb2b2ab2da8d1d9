#pragma once

#include <string_view>

namespace ulpscope::cli {

/// What the file names of capture libraries begin with; LibTorch's version follows.
inline constexpr std::string_view kCapturePrefix = "libulpscope_capture-";

}  // namespace ulpscope::cli

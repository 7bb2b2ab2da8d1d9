#include "cli/term/width.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

namespace ulpscope::cli {

std::size_t output_width(int descriptor) {
  winsize size{};
  if (isatty(descriptor) != 1 || ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return kWidthWhenPiped;
  }
  return std::max<std::size_t>(size.ws_col, kNarrowest);
}

}  // namespace ulpscope::cli

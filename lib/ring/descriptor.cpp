#include "ring/descriptor.hpp"

#include <fcntl.h>

namespace ulpscope::ring {

Descriptor above_stdio(Descriptor descriptor) noexcept {
  if (!descriptor || descriptor.get() > STDERR_FILENO) return descriptor;
  return Descriptor(::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

}  // namespace ulpscope::ring

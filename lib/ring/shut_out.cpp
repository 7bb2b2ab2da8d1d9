#include "ring/shut_out.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include <system_error>

#include "ring/shut_out_file.h"

namespace ulpscope::ring {

ShutOut::ShutOut(const std::filesystem::path& socket)
    : file_(socket.string() + ULPSCOPE_SHUT_OUT_SUFFIX) {
  const Descriptor made(::open(file_.c_str(), O_CREAT | O_EXCL | O_RDONLY | O_CLOEXEC, S_IRUSR));
  if (!made) return;
  watch_ = above_stdio(Descriptor(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)));
  if (watch_ && ::inotify_add_watch(watch_.get(), file_.c_str(), IN_OPEN) < 0) watch_ = {};
}

ShutOut::~ShutOut() {
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
}

bool ShutOut::anybody() const noexcept {
  pollfd watched{watch_.get(), POLLIN, 0};
  return watch_ && ::poll(&watched, 1, 0) == 1;
}

}  // namespace ulpscope::ring

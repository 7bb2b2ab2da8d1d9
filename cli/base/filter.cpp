#include "cli/base/filter.hpp"

#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace ulpscope::cli {
namespace {

[[noreturn]] void fail(const char* what, int reason) {
  throw std::system_error(reason, std::generic_category(), what);
}

/// A file in memory, which holds any amount: neither process waits for the other one to read.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("ulpscope", MFD_CLOEXEC)) {
    if (descriptor_ < 0) fail("memfd_create", errno);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(descriptor_); }

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

  /// Does not move the place that the other process reads from.
  void write(std::string_view bytes) const {
    for (off_t at = 0; !bytes.empty();) {
      const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), at);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) fail("write", errno);
      bytes.remove_prefix(static_cast<std::size_t>(written));
      at += written;
    }
  }

  [[nodiscard]] std::string content() const {
    std::string bytes;
    std::array<char, 1 << 16> piece;
    for (;;) {
      const ssize_t got =
          ::pread(descriptor_, piece.data(), piece.size(), static_cast<off_t>(bytes.size()));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail("read", errno);
      if (got == 0) return bytes;
      bytes.append(piece.data(), static_cast<std::size_t>(got));
    }
  }

 private:
  int descriptor_;
};

}  // namespace

Filtered filter(const std::vector<std::string>& command, std::string_view input) {
  const MemoryFile in;
  const MemoryFile out;
  const MemoryFile errors;
  in.write(input);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, in.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, out.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, errors.descriptor(), STDERR_FILENO);
  pid_t child = 0;
  const int reason = posix_spawnp(&child, argv.front(), &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (reason != 0) fail(argv.front(), reason);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) fail("waitpid", errno);
  return {WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), out.content(),
          errors.content()};
}

}  // namespace ulpscope::cli

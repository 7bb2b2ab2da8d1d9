#include <dlfcn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "replay/messages.hpp"
#include "replay/op_call.hpp"

/// Opens the libraries that its arguments name, then replays the ops that are requested on its
/// standard input, a socket, until that is closed.
namespace {

/// Why one of the libraries cannot be opened; empty if all are.
std::string open_libraries(int count, char** libraries) {
  for (int i = 0; i < count; ++i)
    if (::dlopen(libraries[i], RTLD_NOW | RTLD_GLOBAL) == nullptr)
      return std::string("a library cannot be loaded: ") + ::dlerror();
  return {};
}

bool read_all(char* target, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::read(STDIN_FILENO, target, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    target += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(const char* source, std::size_t size) {
  while (size > 0) {
    const ssize_t put = ::write(STDIN_FILENO, source, size);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    source += put;
    size -= static_cast<std::size_t>(put);
  }
  return true;
}

ulpscope::ReplayAnswer answer_to(const std::string& request, const std::string& trouble) {
  if (trouble.empty()) return ulpscope::replay::call(ulpscope::replay::unpack_request(request));
  ulpscope::ReplayAnswer answer;
  answer.failure = trouble;
  return answer;
}

bool answer_one(const std::string& trouble) {
  std::uint64_t size = 0;
  if (!read_all(reinterpret_cast<char*>(&size), sizeof(size))) return false;
  if (size > ulpscope::replay::kLongestMessage) return false;
  std::string request(size, '\0');
  if (!read_all(request.data(), request.size())) return false;
  const std::string answer = ulpscope::replay::pack(answer_to(request, trouble));
  size = answer.size();
  return write_all(reinterpret_cast<const char*>(&size), sizeof(size)) &&
         write_all(answer.data(), answer.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  try {
    const std::string trouble = open_libraries(argc - 1, argv + 1);
    while (answer_one(trouble)) {
    }
  } catch (...) {
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

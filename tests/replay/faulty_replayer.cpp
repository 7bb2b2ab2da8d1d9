#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "replay/messages.hpp"

/// Answers as the program that replays ops does, except for the fault that an op's name requests.
namespace {

constexpr int kSocket = STDIN_FILENO;

bool read_all(void* target, std::size_t size) {
  auto* rest = static_cast<char*>(target);
  while (size > 0) {
    const ssize_t got = ::read(kSocket, rest, size);
    if (got <= 0) return false;
    rest += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

void write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(kSocket, bytes.data(), bytes.size());
    if (put <= 0) std::exit(EXIT_FAILURE);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
}

void write_size(std::uint64_t size) {
  write_all({reinterpret_cast<const char*>(&size), sizeof(size)});
}

std::string libraries;  ///< that the program was given

void fail_with(const char* text) {
  ulpscope::ReplayAnswer failed;
  failed.failure = text == nullptr ? "nothing" : text;
  const std::string packed = ulpscope::replay::pack(failed);
  write_size(packed.size());
  write_all(packed);
}

void answer(const ulpscope::ReplayRequest& request) {
  if (request.op == "test::dies") ::kill(::getpid(), SIGKILL);
  if (request.op == "test::leaves") std::exit(EXIT_SUCCESS);
  if (request.op == "test::not_loaded") std::_Exit(127);
  if (request.op == "test::endless") return write_size(std::uint64_t{1} << 62);
  if (request.op == "test::waits") ::pause();
  if (request.op == "test::variable") return fail_with(std::getenv("REPLAY_TEST_VARIABLE"));
  if (request.op == "test::libraries") return fail_with(libraries.c_str());
  if (request.op == "test::cut") {
    write_size(1000);
    write_all("less");
    std::exit(EXIT_SUCCESS);
  }
  if (request.op == "test::nonsense") {
    write_size(8);
    return write_all("nonsense");
  }
  ulpscope::ReplayAnswer same;
  same.results = request.inputs;
  const std::string packed = ulpscope::replay::pack(same);
  write_size(packed.size());
  write_all(packed);
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) libraries += std::string(argv[i]) + " ";
  for (;;) {
    std::uint64_t size = 0;
    if (!read_all(&size, sizeof(size))) return EXIT_SUCCESS;
    std::string bytes(size, '\0');
    if (!read_all(bytes.data(), bytes.size())) return EXIT_SUCCESS;
    answer(ulpscope::replay::unpack_request(bytes));
  }
}

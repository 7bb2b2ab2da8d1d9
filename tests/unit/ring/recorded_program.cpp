#include <unistd.h>

#include <cstdlib>

#include "messages.hpp"
#include "ring/client.hpp"

// recorded_program SOCKET MESSAGES [PROGRAM ARGUMENTS...]: records numbered messages, then executes
// PROGRAM without closing its ring.
int main(int argc, char** argv) {
  using namespace ulpscope::ring;
  if (argc < 3) return 2;
  static Client client;
  if (!client.connect(argv[1], "test")) return 3;
  static Producer producer = client.open_ring(true, "main");
  const std::uint64_t messages = std::strtoull(argv[2], nullptr, 10);
  for (std::uint64_t i = 0; i < messages; ++i) {
    if (!test::send_numbered(producer, i)) return 4;
  }
  if (argc > 3) {
    ::execv(argv[3], argv + 3);
    return 5;
  }
  return 0;
}

#include "cli/team/launch.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "cli/base/exit.hpp"

namespace ulpscope::cli {
namespace {

std::optional<std::uint32_t> number(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr) return std::nullopt;
  const std::string_view text = value;
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

Launch launch() {
  struct Names {
    const char* size;
    const char* member;
  };
  constexpr Names kLaunchers[] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                  {"PMI_SIZE", "PMI_RANK"}};
  for (const Names& names : kLaunchers) {
    const auto size = number(names.size);
    const auto member = number(names.member);
    if (size && member && *size > 1 && *member < *size) return {*size, *member};
  }
  return {};
}

void answer_end_of_all() noexcept {
  struct sigaction action {};
  action.sa_handler = [](int) {
    constexpr std::string_view kSentence =
        "ulpscope: error: mpirun has ended the comparison, as it does when one of its processes "
        "fails or is killed\nhelp: what mpirun says names the process and the signal; SIGKILL "
        "often means that "
        "memory ran out\n";
    [[maybe_unused]] const auto written =
        ::write(STDERR_FILENO, kSentence.data(), kSentence.size());
    _exit(static_cast<int>(Exit::trouble));
  };
  sigaction(SIGTERM, &action, nullptr);
}

void silence_output() {
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0) return;
  dup2(nowhere, STDOUT_FILENO);
  close(nowhere);
}

}  // namespace ulpscope::cli

#include "cli/term/color.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace ulpscope::cli {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view{} : std::string_view{value};
}

}  // namespace

bool wants_color(ColorChoice choice, int descriptor) {
  if (choice != ColorChoice::automatic) return choice == ColorChoice::always;
  if (!environment("NO_COLOR").empty()) return false;
  const std::string_view force = environment("CLICOLOR_FORCE");
  if (!force.empty() && force != "0") return true;
  return environment("TERM") != "dumb" && isatty(descriptor) == 1;
}

}  // namespace ulpscope::cli

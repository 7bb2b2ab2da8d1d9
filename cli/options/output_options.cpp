#include "cli/options/output_options.hpp"

#include <unistd.h>

#include <algorithm>

#include "cli/team/launch.hpp"
#include "cli/term/width.hpp"

namespace ulpscope::cli {

void OutputOptions::attach(Options& options) {
  options.value(
      "--color", "auto|always|never", "COLOR", "colors: at a terminal (auto), always, never",
      [this](const std::string& source, const std::string& value) {
        color_ = static_cast<ColorChoice>(choice(source, value, {"auto", "always", "never"}));
      });
  options.flag("--ascii", "ASCII", "draw with ASCII characters only", ascii_);
  options
      .value("--width", "N", "WIDTH", "columns of the text (the terminal's, else 100)",
             [this](const std::string& source, const std::string& value) {
               width_ = std::clamp<std::size_t>(whole_number(source, value), kNarrowest, 1000);
             })
      .rare();
}

Terminal OutputOptions::terminal() const {
  // mpirun puts a terminal without a size between a process and its output.
  const bool unknown = color_ == ColorChoice::automatic && !launch().alone();
  const ColorChoice color = unknown ? ColorChoice::never : color_;
  return {width_ == 0 ? output_width(STDOUT_FILENO) : width_, wants_color(color, STDOUT_FILENO),
          ascii_};
}

}  // namespace ulpscope::cli

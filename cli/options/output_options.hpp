#pragma once

#include <cstddef>

#include "cli/options/options.hpp"
#include "cli/term/color.hpp"
#include "cli/term/terminal.hpp"

namespace ulpscope::cli {

/// --color, --ascii and --width of the commands that print text.
class OutputOptions {
 public:
  void attach(Options& options);

  /// For text on standard output.
  [[nodiscard]] Terminal terminal() const;

 private:
  ColorChoice color_ = ColorChoice::automatic;
  bool ascii_ = false;
  std::size_t width_ = 0;  ///< 0: that of the terminal
};

}  // namespace ulpscope::cli

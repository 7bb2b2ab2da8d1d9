#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace ulpscope::cli {

/// Why a program cannot be entered by preloading a library.
enum class Obstacle : std::uint8_t {
  none,
  is_static,        ///< no dynamic loader runs
  privileged,       ///< set-user-id, set-group-id or file capabilities: the loader refuses
  sanitizer,        ///< its runtime must come first and replaces what recording needs
  foreign_machine,  ///< a different architecture or word size
};

/// What is known about a program before it runs.
struct Executable {
  Obstacle obstacle = Obstacle::none;
  bool needs_torch = false;  ///< it names a LibTorch library among those it needs
  std::string loader = {};   ///< the program that loads its libraries; empty if it has none
};

/// The file that execvp() would run for `program`; empty if there is none.
[[nodiscard]] std::optional<std::filesystem::path> find_executable(const std::string& program);

/// Examines an ELF file. Anything that is not one, or is inconsistent, has no known obstacle.
[[nodiscard]] Executable inspect_executable(const std::filesystem::path& path);

/// "it is statically linked"
[[nodiscard]] std::string_view in_words(Obstacle obstacle);

}  // namespace ulpscope::cli

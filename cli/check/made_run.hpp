#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/check/program.hpp"
#include "cli/check/variants.hpp"
#include "dump/status.hpp"
#include "ulpscope/digest.hpp"

namespace ulpscope::cli {

/// What every run of a check is given.
struct RunSettings {
  std::string input;                ///< a file for standard input; empty: none
  std::string setup;                ///< a shell command before each run; {run} is its number
  std::vector<std::string> finals;  ///< files that a run leaves; {run} is its number
  std::uint64_t max_bytes = 0;      ///< of one dump's contents; 0: no limit
};

/// How a run ended, and what it left.
struct MadeRun {
  std::size_t number = 0;  ///< from 1
  int exit_code = 0;
  std::chrono::duration<double> took{};
  std::string final_lines;
  /// The files of RunSettings::finals: empty where there is none.
  std::vector<std::optional<Digest>> finals;
  std::filesystem::path dump;  ///< empty: it was not recorded
  dump::Status status;         ///< of the dump
  std::uint64_t bytes_on_disk = 0;

  /// Whether both left the same: the same files if there are any, else the same last lines.
  [[nodiscard]] bool leaves_the_same(const MadeRun& other) const;
};

/// Makes runs of a program, one after the other.
class RunMaker {
 public:
  /// Called several times a second with what is being done and since when.
  using Watch = std::function<void(const std::string& what, std::chrono::duration<double> since)>;

  RunMaker(RunSettings settings, Watch watch)
      : settings_(std::move(settings)), watch_(std::move(watch)) {}

  /// Runs it as it is.
  /// @throws Error if it, or the setup command, cannot be run.
  [[nodiscard]] MadeRun bare(const Variant& variant);

  /// Records it into `dump`, with further options of `record`.
  /// @throws Error if it cannot be recorded.
  [[nodiscard]] MadeRun recorded(const Variant& variant, const std::filesystem::path& dump,
                                 const std::vector<std::string>& options);

 private:
  [[nodiscard]] MadeRun make(const Variant& variant, const std::string& what,
                             const std::vector<std::string>& before);
  void set_up(std::size_t run) const;

  RunSettings settings_;
  Watch watch_;
  std::size_t made_ = 0;
  std::string errors_;  ///< of the latest run
};

}  // namespace ulpscope::cli

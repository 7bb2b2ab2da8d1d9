#include "cli/check/made_run.hpp"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <span>

#include "cli/base/words.hpp"
#include "cli/check/interruption.hpp"
#include "ulpscope/error.hpp"
#include "writer/dump_directory.hpp"

namespace ulpscope::cli {
namespace {

namespace fs = std::filesystem;

std::optional<Digest> digest_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  DigestStream stream;
  std::array<char, 1 << 16> part{};
  while (file.read(part.data(), part.size()) || file.gcount() > 0)
    stream.update(std::as_bytes(std::span(part.data(), static_cast<std::size_t>(file.gcount()))));
  return stream.finish();
}

/// What `record` said about why it could not start: its error and what would help.
[[noreturn]] void refuse_as(const std::string& errors) {
  constexpr std::string_view kError = "error: ";
  constexpr std::string_view kHelp = "help: ";
  std::string message = "the program could not be recorded";
  std::string hint;
  for (const std::string& line : split(errors, '\n')) {
    if (const std::size_t at = line.find(kError); at != std::string::npos)
      message = line.substr(at + kError.size());
    if (const std::size_t at = line.find(kHelp); at != std::string::npos)
      hint = line.substr(at + kHelp.size());
  }
  throw Error(ErrorCode::usage, message, hint);
}

/// What the program printed on standard error, without what `record` says beside it.
std::string without_ours(const std::string& errors) {
  std::string text;
  for (const std::string& line : split(errors, '\n'))
    if (!line.starts_with("ulpscope: ")) text += line + '\n';
  return text;
}

}  // namespace

bool MadeRun::leaves_the_same(const MadeRun& other) const {
  return finals.empty() ? final_lines == other.final_lines : finals == other.finals;
}

void RunMaker::set_up(std::size_t run) const {
  if (settings_.setup.empty()) return;
  const std::string command = replaced(settings_.setup, "{run}", std::to_string(run));
  const ProgramResult result = run_program({{"sh", "-c", command}, {}, {}}, {});
  if (result.exit_code == 0 || interrupted() != 0) return;
  throw Error(
      ErrorCode::usage,
      fmt::format("the command of --setup ended with exit code {}: {}", result.exit_code, command),
      result.errors.empty() ? "run it by hand" : final_lines(result.errors));
}

MadeRun RunMaker::make(const Variant& variant, const std::string& what,
                       const std::vector<std::string>& before) {
  MadeRun run;
  run.number = ++made_;
  set_up(run.number);
  ProgramCall call{before, variant.variables, settings_.input};
  const auto command = command_of_run(variant.command, run.number);
  call.command.insert(call.command.end(), command.begin(), command.end());
  const std::string doing = fmt::format("run {} ({}{}{})", run.number, what,
                                        variant.label.empty() ? "" : ", ", variant.label);
  const ProgramResult result = run_program(call, [&](auto since) { watch_(doing, since); });
  run.exit_code = result.exit_code;
  run.took = result.took;
  run.final_lines = final_lines(result.output);
  errors_ = result.errors;
  for (const std::string& file : settings_.finals)
    run.finals.push_back(digest_of_file(replaced(file, "{run}", std::to_string(run.number))));
  return run;
}

MadeRun RunMaker::bare(const Variant& variant) { return make(variant, "bare", {}); }

MadeRun RunMaker::recorded(const Variant& variant, const fs::path& dump,
                           const std::vector<std::string>& options) {
  std::vector<std::string> before{"/proc/self/exe", "record", "--level",
                                  "digest",         "-o",     dump.string()};
  before.insert(before.end(), variant.record_options.begin(), variant.record_options.end());
  before.insert(before.end(), options.begin(), options.end());
  before.emplace_back("--");
  MadeRun run = make(variant, "recorded", before);
  const auto status = dump::read_status(dump);
  if (!status && interrupted() == 0) refuse_as(errors_);
  if (status) run.status = *status;
  if (!run.status.recorded && interrupted() == 0) {
    throw Error(ErrorCode::usage,
                fmt::format("the program was not recorded: {}", run.status.reason),
                "check needs a program that uses LibTorch");
  }
  if (run.status.counts.events == 0 && interrupted() == 0) {
    throw Error(
        ErrorCode::usage,
        fmt::format("the program ended with exit code {} before its first op", run.exit_code),
        "it printed: " + final_lines(without_ours(errors_)));
  }
  run.dump = dump;
  run.bytes_on_disk = writer::bytes_on_disk(dump);
  return run;
}

}  // namespace ulpscope::cli

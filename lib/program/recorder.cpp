#include <unistd.h>

#include <fstream>
#include <iterator>
#include <optional>

#include "capture/program_calls.hpp"
#include "program/capture_library.hpp"
#include "program/location.hpp"
#include "program/writer_process.hpp"
#include "ulpscope/ulpscope.hpp"

namespace ulpscope {
namespace {

/// The process whose Recorder lives; 0: none does.
std::atomic<pid_t> live_in{0};

std::vector<std::string> own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

/// The options of `ulpscope record`; options at their defaults follow its variables.
std::vector<std::string> writer_arguments(const std::filesystem::path& directory,
                                          const RecorderOptions& options) {
  std::vector<std::string> arguments{"write"};
  const auto add = [&](const char* name, const std::string& value) {
    arguments.emplace_back(name);
    arguments.push_back(value);
  };
  const auto add_all = [&](const char* name, const std::vector<std::string>& values) {
    for (const std::string& value : values) add(name, value);
  };
  if (!directory.empty()) add("-o", directory.string());
  if (options.level == Level::stats) add("--level", "stats");
  if (options.level == Level::full) add("--level", "full");
  if (options.capture == Capture::layers) add("--capture", "layers");
  if (!options.steps.empty()) add("--steps", options.steps);
  add_all("--modules", options.modules);
  add_all("--ops", options.ops);
  add_all("--ignore", options.ignore);
  add_all("--redact", options.redact);
  if (options.verify == Verify::off) add("--verify", "off");
  if (options.stacks) arguments.emplace_back("--stacks");
  if (options.kernels) arguments.emplace_back("--kernels");
  if (options.max_bytes != 0) add("--max-bytes", std::to_string(options.max_bytes));
  if (options.keep_last != 0) add("--keep-last", std::to_string(options.keep_last));
  if (options.force) arguments.emplace_back("--force");
  arguments.emplace_back("--");
  for (std::string& argument : own_command()) arguments.push_back(std::move(argument));
  return arguments;
}

}  // namespace

namespace detail {

std::atomic<const capture::ProgramCalls*> ulpscope_active_calls{nullptr};

void* begin_scope(const capture::ProgramCalls& calls, std::string_view name) noexcept {
  return calls.begin_scope(name);
}

void end_scope(const capture::ProgramCalls& calls, void* scope) noexcept { calls.end_scope(scope); }

void note(const capture::ProgramCalls& calls, std::string_view key,
          std::string_view value) noexcept {
  calls.note(key, value);
}

void note_rng(const capture::ProgramCalls& calls, std::string_view name,
              std::span<const std::byte> state) noexcept {
  calls.note_rng(name, state);
}

void note_batch(const capture::ProgramCalls& calls, std::span<const std::int64_t> ids) noexcept {
  calls.note_batch(ids);
}

}  // namespace detail

struct Recorder::State {
  pid_t process = 0;
  const capture::ProgramCalls* calls = nullptr;  ///< null: nothing can be recorded
  bool joined = false;                           ///< `ulpscope record` records this process
  std::string trouble;
  std::filesystem::path directory;

  void begin(const std::filesystem::path& wanted, const RecorderOptions& options);
};

void Recorder::State::begin(const std::filesystem::path& wanted, const RecorderOptions& options) {
  const program::CaptureLibrary library = program::CaptureLibrary::open();
  if (library.calls().recording()) {
    joined = true;
    library.calls().notice("a Recorder for '" + wanted.string() +
                           "' was left out: `ulpscope record` records this process");
    detail::ulpscope_active_calls.store(&library.calls(), std::memory_order_release);
  } else {
    const program::WriterProcess writer =
        program::start_writer(program::find_writer(), writer_arguments(wanted, options));
    library.start(writer.socket_path);
    directory = writer.dump;
  }
  calls = &library.calls();
}

Recorder::Recorder(const std::filesystem::path& directory, const RecorderOptions& options)
    : state_(std::make_unique<State>()) {
  state_->process = getpid();
  pid_t live = live_in;
  if (live == state_->process || !live_in.compare_exchange_strong(live, state_->process)) {
    throw Error(ErrorCode::usage, "a Recorder is recording this process already",
                "destroy it before the next one is made");
  }
  try {
    state_->begin(directory, options);
  } catch (const Error& error) {
    if (options.required) {
      live_in = 0;
      throw;
    }
    state_->trouble = error.what();
  }
}

Recorder::~Recorder() {
  if (state_->process != getpid()) return;  // a forked child's copy
  if (state_->calls != nullptr && !state_->joined) state_->calls->finish();
  live_in = 0;
}

bool Recorder::recording() const noexcept {
  return state_->calls != nullptr && state_->process == getpid() && state_->calls->recording();
}

const std::string& Recorder::trouble() const noexcept { return state_->trouble; }

const std::filesystem::path& Recorder::directory() const noexcept { return state_->directory; }

void Recorder::watch(const torch::nn::Module& root, std::string_view name) noexcept {
  if (const auto* calls = detail::active()) calls->watch(root, name);
}

void Recorder::step() noexcept {
  if (const auto* calls = detail::active()) calls->step();
}

}  // namespace ulpscope

#include "writer/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "ring/server_options.hpp"
#include "writer/symbols/inlined_calls.hpp"
#include "writer/symbols/symbolizer.hpp"

namespace ulpscope::writer {
namespace {

namespace fs = std::filesystem;

/// Steps as the dump counts them: setup is -1, and belongs to a range that begins at 0.
void set_window(const ring::Settings& settings, dump::RecordingOptions& recording) {
  constexpr std::int64_t kSetupStep = -1;
  const auto at_most = static_cast<std::uint64_t>(recording.last_step);
  const bool only_setup = settings.last_step < settings.first_step;
  const bool from_setup = only_setup || settings.first_step == 0;
  recording.first_step =
      from_setup ? kSetupStep : static_cast<std::int64_t>(std::min(settings.first_step, at_most));
  recording.last_step =
      only_setup ? kSetupStep : static_cast<std::int64_t>(std::min(settings.last_step, at_most));
}

[[nodiscard]] ring::ServerOptions server_options(const SessionOptions& options) {
  ring::ServerOptions server;
  server.settings = options.settings;
  server.look_up_inlined = [reader = std::make_shared<InlinedCallReader>()](
                               auto object, auto address, auto& answer) {
    reader->read(object, address, answer);
  };
  return server;
}

/// Until the recording ends.
[[nodiscard]] dump::Status first_status(const SessionOptions& options, const Redaction& redaction) {
  dump::Status status;
  status.run = dump::new_run_id();
  status.command = redaction.command(options.command);
  status.level = level_name(options.settings.level);
  status.reason = "the recording has not ended";
  return status;
}

[[nodiscard]] dump::RecordingOptions recording_options(const SessionOptions& options,
                                                       const fs::path& directory,
                                                       const dump::Status& status) {
  dump::RecordingOptions recording;
  recording.directory = directory;
  recording.run = status.run;
  recording.command = status.command;
  recording.level = status.level;
  recording.creator = options.creator;
  recording.keep_last = options.keep_last;
  recording.segment_steps = options.segment_steps;
  recording.segment_seconds = options.segment_seconds;
  if (options.segment_bytes != 0) recording.segment_bytes = options.segment_bytes;
  set_window(options.settings, recording);
  if (options.settings.stacks != ring::Stacks::none) {
    recording.resolve_frame = [names = std::make_shared<Symbolizer>()](auto object, auto offset) {
      return (*names)(object, offset);
    };
  }
  return recording;
}

}  // namespace

std::string_view level_name(ring::Level level) {
  switch (level) {
    case ring::Level::digest:
      return "digest";
    case ring::Level::stats:
      return "stats";
    case ring::Level::full:
      return "full";
  }
  return "digest";
}

Session::Session(const SessionOptions& options, EndingOf ending_of)
    : server_(std::make_unique<ring::Server>(server_options(options))),
      directory_(options.dump, fs::path(options.command.front()).filename().string(),
                 options.force),
      path_(fs::absolute(directory_.path())),
      redaction_(options.redact),
      status_(first_status(options, redaction_)),
      budget_(path_, options.max_bytes),
      ranks_(recording_options(options, path_, status_), redaction_, budget_, *server_,
             std::move(ending_of), options.watch) {
  dump::write_status(path_, status_);
}

void Session::end_all(const std::string& why) { ranks_.end_all(why); }

void Session::disconnect() { server_.reset(); }

/// Why what was recorded is not all, as one sentence; empty if it is.
std::string Session::incomplete_reason() const {
  std::vector<std::string> reasons = ranks_.shortcomings();
  reasons.insert(reasons.end(), ranks_.refusals().begin(), ranks_.refusals().end());
  if (reasons.empty()) return {};
  if (reasons.size() == 1) return reasons.front();
  return fmt::format("{} (and {} more)", reasons.front(), reasons.size() - 1);
}

dump::Status Session::finish(std::optional<int> exit_code) {
  if (server_) {
    stats_ = server_->stats();
    if (!server_->reachable()) ranks_.on_unreachable();
    if (server_->anybody_shut_out()) ranks_.on_shut_out();
  }
  if (!failed()) ranks_.number_ranks();
  status_.exit_code = exit_code;
  status_.ranks = ranks_.ranks();
  status_.last_segments = ranks_.last_segments();
  status_.counts = ranks_.counts();
  status_.recorded = !status_.ranks.empty();
  status_.reason = failed() ? failure_ : incomplete_reason();
  status_.complete = status_.recorded && status_.reason.empty();
  status_.notes = ranks_.notes();
  return status_;
}

void Session::write(dump::Status status) const {
  std::ranges::move(ranks_.waits(stats_), std::back_inserter(status.notes));
  dump::write_status(path_, status);
}

std::chrono::nanoseconds Session::waited() const {
  std::chrono::nanoseconds waited{0};
  for (const ring::SessionStats& session : stats_) waited += session.stalled;
  return waited;
}

}  // namespace ulpscope::writer

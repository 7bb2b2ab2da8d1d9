#pragma once

#include <chrono>
#include <functional>

#include "cli/check/sighting.hpp"
#include "cli/options/options.hpp"
#include "writer/session.hpp"

namespace ulpscope::cli {

/// What is done with a recording while it goes on.
struct RecordingHooks {
  writer::Watch watch;
  std::function<std::chrono::milliseconds(writer::Session&)> after_round;
  /// Why it has not begun, which nobody else prints.
  std::function<void(const Trouble& trouble)> failed;
};

/// Of something that sees what is written and is called after each round.
template <class Watcher>
[[nodiscard]] RecordingHooks hooks_of(Watcher& watcher) {
  return {[&watcher](const writer::Written& written) { watcher.see(written); },
          [&watcher](writer::Session& session) { return watcher.after_round(session); },
          [&watcher](const Trouble& trouble) { watcher.report(trouble); }};
}

/// `ulpscope record` with these arguments, in a process of its own. Returns the exit code, whatever
/// happens.
[[nodiscard]] int record_watched(Arguments arguments, const RecordingHooks& hooks);

}  // namespace ulpscope::cli

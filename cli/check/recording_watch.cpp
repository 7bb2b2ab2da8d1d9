#include "cli/check/recording_watch.hpp"

#include <exception>
#include <utility>

namespace ulpscope::cli {

RecordingWatch::RecordingWatch(std::unique_ptr<Run> reference, Inquiry::Options options)
    : reference_(std::move(reference)), values_(*reference_), inquiry_(std::move(options)) {}

void RecordingWatch::see(const writer::BegunSteps& steps, std::span<const std::byte> messages) {
  inquiry_.reach(steps.after);
  if (inquiry_.is_busy()) return;
  try {
    if (values_.lack_one_of(steps, messages)) inquiry_.see();
  } catch (const std::exception&) {  // the reference is damaged: the whole comparison reports it
    inquiry_.give_up();
  }
}

}  // namespace ulpscope::cli

#include "cli/check/recording_watch.hpp"

#include <exception>
#include <utility>

namespace ulpscope::cli {

RecordingWatch::RecordingWatch(std::unique_ptr<Run> reference, Inquiry::Options options)
    : reference_(std::move(reference)), inquiry_(std::move(options)) {}

void RecordingWatch::see(const writer::Written& written) {
  if (inquiry_.is_busy()) return;
  try {
    if (values_for(written).lack_one_of(written)) inquiry_.see();
  } catch (const std::exception&) {  // the reference is damaged: the whole comparison reports it
    inquiry_.give_up();
  }
}

writer::ReferenceValues& RecordingWatch::values_for(const writer::Written& written) {
  writer::ReferenceValues*& known = of_process_[written.process];
  if (known == nullptr) {
    const auto ranks = writer::possible_partners(*reference_, written.identity);
    const std::size_t most = writer::ReferenceValues::kMostValues / reference_->ranks().size();
    known = &values_.try_emplace(ranks, *reference_, ranks, most).first->second;
  }
  return *known;
}

}  // namespace ulpscope::cli

#include "writer/digest_steps.hpp"

#include <utility>

namespace ulpscope::writer {

void DigestSteps::put(std::uint64_t digest, std::int64_t step) {
  Entry& entry = entries_[place_of(digest)];
  if (entry.used) {
    entry.step = step;
    return;
  }
  entry = {digest, step, true};
  if (++used_ > entries_.size() / 2) make_room();
}

void DigestSteps::make_room() {
  std::size_t kept = 0;
  for (const Entry& entry : entries_) kept += entry.used && entry.step >= first_;
  const std::size_t size = kept > entries_.size() / 4 ? 2 * entries_.size() : entries_.size();
  const std::vector<Entry> before = std::exchange(entries_, std::vector<Entry>(size));
  used_ = kept;
  for (const Entry& entry : before)
    if (entry.used && entry.step >= first_) entries_[place_of(entry.digest)] = entry;
}

}  // namespace ulpscope::writer

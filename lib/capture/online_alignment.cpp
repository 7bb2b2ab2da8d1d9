#include "capture/online_alignment.hpp"

#include <algorithm>
#include <utility>

namespace ulpscope::capture {

OnlineAlignment::OnlineAlignment(std::pmr::vector<std::uint64_t> reference)
    : reference_(std::move(reference)) {
  taken_.assign(reference_.size(), false);
  const std::uint64_t places = std::min<std::uint64_t>(reference_.size(), kReach) + 1;
  for (std::uint64_t place = 0; place < places; ++place) costs_.push_back(place);
}

std::optional<std::uint64_t> OnlineAlignment::next(std::uint64_t signature) {
  after_.assign(costs_.size(), 0);
  std::size_t best = 0;
  bool best_is_partner = false;
  for (std::size_t k = 0; k < costs_.size(); ++k) {
    const bool fits = k > 0 && reference_[begin_ + k - 1] == signature && !taken_[begin_ + k - 1];
    const std::uint64_t alone = costs_[k] + 1;
    const std::uint64_t passed = k > 0 ? after_[k - 1] + 1 : alone;
    after_[k] = std::min(alone, passed);
    const bool is_partner = fits && costs_[k - 1] <= after_[k];
    if (is_partner) after_[k] = costs_[k - 1];
    if (after_[k] < after_[best] || (after_[k] == after_[best] && is_partner && !best_is_partner) ||
        k == 0) {
      best = k;
      best_is_partner = is_partner;
    }
  }
  std::swap(costs_, after_);
  const std::uint64_t place = begin_ + best;
  if (best_is_partner) taken_[place - 1] = true;
  // The band follows.
  while (begin_ + kReach < place) {
    costs_.erase(costs_.begin());
    ++begin_;
  }
  while (begin_ + costs_.size() <= reference_.size() && begin_ + costs_.size() <= place + kReach)
    costs_.push_back(costs_.back() + 1);
  return best_is_partner ? std::optional(place - 1) : std::nullopt;
}

}  // namespace ulpscope::capture

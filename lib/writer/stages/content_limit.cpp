#include "writer/stages/content_limit.hpp"

#include <cstring>

#include "ulpscope/run.hpp"
#include "writer/dump_directory.hpp"
#include "writer/stages/messages.hpp"

namespace ulpscope::writer {
namespace {

/// A measurement that regains less than this share of the limit ends the budget.
constexpr std::uint64_t kLeastPart = 128;

}  // namespace

bool ContentBudget::take(std::uint64_t bytes) {
  if (limit_ == 0) return true;
  if (used_up_) return false;
  const auto fits = [&] { return known_ + taken_ <= limit_ && bytes <= limit_ - known_ - taken_; };
  if (!fits()) {
    const std::uint64_t before = known_ + taken_;
    known_ = bytes_on_disk(directory_);
    taken_ = in_flight_;
    const std::uint64_t now = known_ + taken_;
    const bool hardly_moved = before > now && before - now < limit_ / kLeastPart;
    used_up_ = !fits() || hardly_moved;
    if (used_up_) return false;
  }
  taken_ += bytes;
  in_flight_ += bytes;
  return true;
}

bool LimitedContents::keep_content(std::uint32_t lane, std::span<const std::byte> message) {
  const auto row = read_row<ring::ContentMessage>(message);
  if (!row) return true;  // it is rejected when it is stored
  const Digest digest{row->digest[0], row->digest[1]};
  if (row->offset == 0) {
    keeping_[lane] = stored_.contains(digest) || budget_.take(row->total);
    if (keeping_[lane]) stored_.insert(digest);
  }
  left_out_ = left_out_ || !keeping_[lane];
  return keeping_[lane];
}

/// The event, its slots without has_content where their content was left out.
std::span<const std::byte> LimitedContents::without_contents(std::span<const std::byte> message) {
  const auto event = read_row<ring::EventRow>(message);
  if (!event || event->slots > (message.size() - sizeof *event) / sizeof(ring::SlotRow))
    return message;
  copy_.assign(message.begin(), message.end());
  for (std::size_t i = 0; i < event->slots; ++i) {
    std::byte* place = copy_.data() + sizeof *event + i * sizeof(ring::SlotRow);
    ring::SlotRow slot;
    std::memcpy(&slot, place, sizeof slot);
    if (stored_.contains({slot.digest[0], slot.digest[1]})) continue;
    slot.flags &= ~slot_flag::has_content;
    std::memcpy(place, &slot, sizeof slot);
  }
  return copy_;
}

std::span<const std::byte> LimitedContents::apply(std::uint32_t lane,
                                                  std::span<const std::byte> message) {
  if (budget_.limit() == 0) return message;
  const ring::MessageKind kind = kind_of(message);
  if (kind == ring::MessageKind::content && !keep_content(lane, message)) return {};
  return kind == ring::MessageKind::event && left_out_ ? without_contents(message) : message;
}

}  // namespace ulpscope::writer

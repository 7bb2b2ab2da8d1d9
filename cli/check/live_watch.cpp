#include "cli/check/live_watch.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "writer/compared_values.hpp"

namespace ulpscope::cli {
namespace {

using namespace std::chrono_literals;

/// Threads may put events in another order; those of one step are compared in it nevertheless.
constexpr std::uint64_t kSlack = 16;
constexpr std::size_t kMostWaiting = std::size_t{1} << 20;

}  // namespace

LiveWatch::LiveWatch(Lockstep& lockstep, bool is_reference, Inquiry::Options options)
    : lockstep_(lockstep),
      is_reference_(is_reference),
      own_(is_reference ? lockstep.reference : lockstep.candidate),
      other_(is_reference ? lockstep.candidate : lockstep.reference),
      held_(*options.hold),
      inquiry_(std::move(options)) {}

void LiveWatch::see(const writer::Written& written) {
  const auto begun = static_cast<std::uint64_t>(written.steps.after + 1);
  const auto known_before = static_cast<std::uint64_t>(written.steps.before + 1);
  if (begun > own_.steps.load(std::memory_order_relaxed)) own_.steps = begun;
  Process* const process = is_reference_ ? nullptr : &processes_[written.process];
  if (process != nullptr) process->identity = written.identity;
  std::uint64_t newest = 0;
  writer::for_each_value(written.messages, [&](std::uint64_t position, const ring::SlotRow& slot) {
    newest = std::max(newest, position);
    const bool has_logical = (slot.flags & slot_flag::logical) != 0;
    if (is_reference_) {
      lockstep_.digests.add(slot.digest[1]);
      if (has_logical) lockstep_.digests.add(slot.logical[1]);
    } else if (waiting_ < kMostWaiting) {
      process->waiting.push_back(
          {position, known_before, slot.digest[1], has_logical ? slot.logical[1] : 0});
      ++waiting_;
    }
  });
  if (is_reference_ && !written.identity.declared.empty())
    lockstep_.positions.store(written.identity, newest);
  if (newest > own_.position.load(std::memory_order_relaxed))
    own_.position.store(newest, std::memory_order_release);
}

std::chrono::milliseconds LiveWatch::after_round(writer::Session& session) {
  if (session.anybody_came() && session.live_sessions() == 0) own_.ended = true;
  if (!is_reference_) look_up_waiting();
  const auto wait = inquiry_.after_round(session);
  if (inquiry_.is_asking() || inquiry_.is_over()) return wait;
  if (is_to_wait(lockstep_, is_reference_)) {
    const std::uint64_t at = own_.position;
    if (!waits_ || at != waits_at_) held_.hold(getpid());
    waits_at_ = at;
    waits_ = true;
  } else if (std::exchange(waits_, false)) {
    held_.let_go(getpid());
  }
  return waits_ || waiting_ > 0 ? std::min<std::chrono::milliseconds>(wait, 1ms) : wait;
}

void LiveWatch::look_up_waiting() {
  for (auto& [number, process] : processes_) look_up_waiting(process);
}

void LiveWatch::look_up_waiting(Process& process) {
  const bool all = other_.ended;
  const auto there = reached(process.identity);
  std::deque<Waiting>& waiting = process.waiting;
  while (!waiting.empty() && (all || (there && waiting.front().position + kSlack <= *there))) {
    const Waiting next = waiting.front();
    waiting.pop_front();
    --waiting_;
    if (inquiry_.is_busy()) continue;
    if (all && next.steps > other_.steps) continue;  // the reference has no such step
    const bool known = lockstep_.digests.has(next.digest) ||
                       (next.logical != 0 && lockstep_.digests.has(next.logical));
    if (!known) inquiry_.see();
  }
}

std::optional<std::uint64_t> LiveWatch::reached(const RankIdentity& rank) const {
  if (rank.declared.empty()) return other_.position.load(std::memory_order_acquire);
  return lockstep_.positions.load(rank);
}

}  // namespace ulpscope::cli

#include "cli/check/inquiry.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "cli/check/line.hpp"
#include "dump/snapshot.hpp"

namespace ulpscope::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kLongWait = 1h;
constexpr auto kStopping = 2ms;  ///< in which a stopped program commits nothing more
constexpr auto kLongestStopping = 1s;
constexpr auto kFirstSlice = 2ms;
constexpr auto kLongestSlice = 10s;
/// Comparing holds a program that does not differ for at most that long, and later on for at most
/// this part of its time.
constexpr auto kHeldForNothing = 2s;
constexpr int kRunningOverHeld = 20;

std::optional<Answer> received(int socket) {
  Answer answer{};
  const ssize_t bytes = recv(socket, &answer, sizeof answer, MSG_DONTWAIT);
  if (bytes == sizeof answer) return answer;
  return bytes == 0 ? std::optional(Answer::let_go) : std::nullopt;  // nobody compares any more
}

}  // namespace

Inquiry::Inquiry(Options options)
    : options_(std::move(options)), comparer_(getppid()), patience_(kHeldForNothing) {}

void Inquiry::report(const Trouble& trouble) const { cli::report(options_.socket, trouble); }

std::chrono::milliseconds Inquiry::after_round(writer::Session& session) {
  if (has_lost_comparer() || state_ == State::done) return kLongWait;
  take_answer(session);
  const bool wants_to_ask = state_ == State::looking_again || (state_ == State::watching && seen_);
  if (!wants_to_ask) return state_ == State::asking ? 1ms : kLongWait;
  const auto now = Clock::now();
  if (now >= not_before_) {
    ask(session);
    return 1ms;
  }
  return std::chrono::ceil<std::chrono::milliseconds>(not_before_ - now);
}

/// Everything that the program has done until it was stopped is in the snapshot.
void Inquiry::ask(writer::Session& session) {
  asked_at_ = Clock::now();
  if (options_.hold != nullptr) {
    options_.hold->hold(getpid());
    while (session.poll(kStopping) && Clock::now() < asked_at_ + kLongestStopping) {
    }
  }
  seen_ = false;
  try {
    dump::take_snapshot(options_.dump, options_.snapshot);
  } catch (const std::exception&) {  // no space: what differs is found at the end
    state_ = State::done;
    return resume();
  }
  constexpr auto sighting = Sighting::snapshot;
  const bool sent = send(options_.socket, &sighting, sizeof sighting, MSG_NOSIGNAL) > 0;
  state_ = sent ? State::asking : State::done;
  if (!sent) resume();
}

void Inquiry::take_answer(writer::Session& session) {
  const std::optional<Answer> answer = received(options_.socket);
  if (!answer) return;
  if (*answer == Answer::show) {
    if (state_ == State::asking) return;  // what was seen is shown already
    shows_ = true;
    return ask(session);
  }
  const auto now = Clock::now();
  const auto took = now - asked_at_;
  if (*answer == Answer::leave || *answer == Answer::let_go) {
    state_ = State::done;
    if (*answer == Answer::let_go) resume();
    return;
  }
  resume();
  if (std::exchange(shows_, false)) {
    state_ = State::watching;
    return;
  }
  patience_ -= std::min<Clock::duration>(patience_, took);
  took_ += took;
  if (*answer == Answer::go_on) {
    state_ = State::watching;
    slice_ = {};
    const auto for_nothing = std::exchange(took_, {});
    const bool is_patient = patience_ > 0s && options_.hold != nullptr;
    not_before_ = is_patient ? now : now + kRunningOverHeld * for_nothing;
  } else {
    state_ = State::looking_again;
    slice_ = std::clamp<Clock::duration>(slice_ + slice_ / 2, kFirstSlice, kLongestSlice);
    const auto while_it_runs = options_.hold == nullptr ? kRunningOverHeld * took : 0s;
    not_before_ = now + std::max<Clock::duration>(slice_, while_it_runs);
  }
}

/// Nobody else would continue what was stopped.
bool Inquiry::has_lost_comparer() {
  if (comparer_ == 0 || getppid() == comparer_) return false;
  comparer_ = 0;
  state_ = State::done;
  resume();
  return true;
}

void Inquiry::resume() {
  if (options_.hold != nullptr) options_.hold->let_go(getpid());
}

}  // namespace ulpscope::cli

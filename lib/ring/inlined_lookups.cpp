#include "ring/inlined_lookups.hpp"

#include <exception>
#include <utility>

#include "ring/handshake.hpp"
#include "ring/listener.hpp"
#include "ring/message.hpp"
#include "ring/quiet_thread.hpp"

namespace ulpscope::ring {

InlinedLookups::InlinedLookups(LookUpInlined look_up) : look_up_(std::move(look_up)) {
  if (look_up_) thread_ = quiet_thread([this] { answer_all(); });
}

InlinedLookups::~InlinedLookups() {
  {
    const std::lock_guard guard(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void InlinedLookups::ask(Descriptor socket, std::string object, std::uint64_t address) {
  if (!look_up_) return;
  const std::lock_guard guard(mutex_);
  questions_.push_back({std::move(socket), std::move(object), address});
  changed_.notify_one();
}

void InlinedLookups::answer_all() {
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return over_ || !questions_.empty(); });
    if (over_) return;
    const Question question = std::move(questions_.front());
    questions_.pop_front();
    lock.unlock();

    InlinedReply answer;
    answer.header.protocol = kProtocolVersion;
    answer.header.granted = 1;
    answer.header.size = sizeof answer;
    try {
      look_up_(question.object, question.address, answer.calls);
    } catch (const std::exception&) {
      continue;  // no answer: the process continues without
    }
    reply(question.socket.get(), &answer, sizeof answer, {});
  }
}

}  // namespace ulpscope::ring

#include "writer/stages/pipeline.hpp"

#include "writer/stages/messages.hpp"

namespace ulpscope::writer {

/// What is stored in place of a message that has its digests.
std::span<const std::byte> Pipeline::stored(std::uint32_t lane,
                                            std::span<const std::byte> message) {
  verified_.read(lane, message);
  const std::span<const std::byte> masked = redacted_.apply(lane, message);
  return contents_.apply(lane, masked);
}

void Pipeline::take(std::uint32_t lane, std::span<const std::byte> messages,
                    const Consume& consume) {
  bool as_they_came = true;
  bool all_pass = true;
  std::size_t passed = 0;
  const std::span<const std::byte> rest = for_each_message(messages, [&](auto message) {
    const bool passes = pending_.passes(lane, message);
    const auto kept = passes ? stored(lane, message) : std::span<const std::byte>();
    all_pass = all_pass && passes;
    if (as_they_came && kept.data() != message.data()) {
      as_they_came = false;
      changed_.assign(messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(passed));
    }
    if (as_they_came)
      passed += message.size();
    else
      append(changed_, kept);
  });
  if (as_they_came) return consume(lane, messages);
  if (!changed_.empty()) consume(lane, changed_);
  if (!all_pass)
    pending_.release([this](auto from, auto message) { return stored(from, message); }, consume);
  if (!rest.empty()) consume(lane, rest);
}

void Pipeline::finish(const Consume& consume) {
  pending_.finish([this](auto from, auto message) { return stored(from, message); }, consume);
}

}  // namespace ulpscope::writer

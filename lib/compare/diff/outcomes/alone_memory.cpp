#include "compare/diff/outcomes/alone_memory.hpp"

#include <algorithm>

#include "compare/model/extent.hpp"
#include "compare/model/structure.hpp"
#include "facts/ops.hpp"

namespace ulpscope::comparison {

/// The contents that an op reads, and those that led to them.
std::vector<Content> AloneMemory::given_to(const Event& op) const {
  constexpr std::uint32_t kUnread = slot_flag::undefined | slot_flag::no_digest |
                                    slot_flag::overwritten | slot_flag::metadata_only;
  std::vector<Content> given;
  const auto add = [&](const Content& content) {
    if (given.size() < kContentsKept &&
        std::find(given.begin(), given.end(), content) == given.end())
      given.push_back(content);
  };
  for (const Slot& slot : op.slots) {
    if (slot.role != Role::input || (slot.flags & kUnread)) continue;
    add(content_of(slot));
    if (const auto known = made_.find(slot.storage); known != made_.end())
      std::for_each(known->second.from.begin(), known->second.from.end(), add);
  }
  return given;
}

std::vector<std::uint64_t> AloneMemory::sources_of(const Event& op) const {
  std::vector<std::uint64_t> sources;
  const auto add = [&](std::uint64_t storage) {
    if (sources.size() < kContentsKept &&
        std::find(sources.begin(), sources.end(), storage) == sources.end())
      sources.push_back(storage);
  };
  for (const Slot& slot : op.slots) {
    if (!comparison::reads(slot) || slot.storage == kNone || slot.writer == kNone) continue;
    if (const auto known = made_.find(slot.storage); known != made_.end())
      std::for_each(known->second.sources.begin(), known->second.sources.end(), add);
    else
      add(slot.storage);
  }
  return sources;
}

bool AloneMemory::contains(const std::vector<Content>& contents, const Content& content) {
  return std::find(contents.begin(), contents.end(), content) != contents.end();
}

bool AloneMemory::is_copy(const Slot& slot) const {
  const Content content = content_of(slot);
  if (const auto known = made_.find(slot.storage); known != made_.end())
    return known->second.is_copy(content);
  const auto known = changed_.find(slot.storage);
  return known != changed_.end() && known->second.writes <= 1 &&
         contains(known->second.from, content);
}

std::vector<std::uint64_t> AloneMemory::adopted(bool diverge) const {
  const Reader most = diverge ? Reader::alone : Reader::after_divergence;
  std::vector<std::uint64_t> adopted;
  for (const auto& [storage, made] : made_)
    if (made.adopted && made.reader <= most && !made.is_copy(made.now)) adopted.push_back(storage);
  return adopted;
}

void AloneMemory::wrote(const Event& op) {
  if (facts::Op(op.op).has(facts::fact::adopts))
    for (const Slot& slot : op.slots)
      if (const auto known = made_.find(slot.storage); slot.index == 1 && known != made_.end())
        known->second.adopted = true;
  std::optional<std::vector<Content>> given;
  std::vector<std::uint64_t> sources;
  for (const Slot& slot : op.slots) {
    if (!writes(slot)) continue;
    any_ = true;
    if (slot.storage == kNone) continue;
    const bool is_new = !made_.contains(slot.storage);
    if (is_new && (slot.role != Role::output || is_given(op, slot.storage))) continue;
    if (is_new && made_.size() >= kKept) {
      overflowed_ = true;
      continue;
    }
    if (!given) {
      given = given_to(op);
      sources = sources_of(op);
    }
    Made& made = made_[slot.storage];
    made.reader = Reader::none;
    made.now = content_of(slot);
    if (is_new) made.sources = sources;
    for (const Content& content : *given)
      if (made.from.size() < kContentsKept && !made.is_copy(content)) made.from.push_back(content);
  }
}

void AloneMemory::changed(const Event& op) {
  for (const Slot& slot : op.slots) {
    if (slot.role == Role::input || slot.storage == kNone || !writes(slot) || made(slot)) continue;
    if (changed_.size() >= kKept) {
      overflowed_ = true;
      return;
    }
    const auto [at, is_first] = changed_.try_emplace(slot.storage);
    const Extent written = extent(slot);
    at->second.begin = is_first ? written.begin : std::min(at->second.begin, written.begin);
    at->second.end = is_first ? written.end : std::max(at->second.end, written.end);
    at->second.now = content_of(slot);
    for (const Content& content : given_to(op))
      if (at->second.from.size() < kContentsKept && !contains(at->second.from, content))
        at->second.from.push_back(content);
    if (!is_first) continue;
    at->second.writes = slot.writes;
    for (const Slot& input : op.slots)
      if (input.role == Role::input && input.storage == slot.storage &&
          !(input.flags & slot_flag::no_digest))
        at->second.before = content_of(input);
  }
}

void AloneMemory::returned(const Event& op) {
  if (op.flags & event_flag::in_backward) return;
  std::vector<std::uint64_t> storages;
  for (const Slot& slot : op.slots)
    if (slot.role == Role::output && writes(slot) && made(slot)) storages.push_back(slot.storage);
  if (storages.empty()) return;
  if (returned_.size() >= kKept)
    overflowed_ = true;
  else
    returned_.push_back(std::move(storages));
}

std::vector<AloneMemory::Unread> AloneMemory::unread() const {
  std::vector<Unread> unread;
  for (const std::vector<std::uint64_t>& storages : returned_) {
    const bool any_read = std::any_of(storages.begin(), storages.end(), [&](std::uint64_t storage) {
      return made_.at(storage).reader != Reader::none;
    });
    if (any_read) continue;
    for (const std::uint64_t storage : storages)
      if (const Made& made = made_.at(storage); !made.adopted && !made.is_copy(made.now))
        unread.push_back({storage, made.now, made.sources});
  }
  return unread;
}

std::optional<std::uint64_t> AloneMemory::reads(std::uint64_t storage) const {
  const auto known = reads_.find(storage);
  if (known == reads_.end()) return 0;
  return known->second.partnered ? std::nullopt : std::optional(known->second.alone);
}

std::vector<AloneMemory::Change> AloneMemory::changes() const {
  std::vector<Change> changes;
  for (const auto& [storage, changed] : changed_)
    if (changed.before != changed.now) changes.push_back({storage, changed.now});
  return changes;
}

void AloneMemory::settle(const Slot& slot) {
  const auto at = changed_.find(slot.storage);
  if (at == changed_.end()) return;
  const Changed& changed = at->second;
  const Extent given = extent(slot);
  // Lanes are not visited in the order in which they ran.
  const bool reads = slot.role == Role::input && slot.writes >= changed.writes &&
                     given.begin < changed.end && changed.begin < given.end;
  const bool replaces = writes(slot) && slot.writes > changed.writes && given.without_gaps &&
                        given.begin <= changed.begin && changed.end <= given.end;
  if (reads || replaces) changed_.erase(at);
}

AloneMemory::Reader AloneMemory::reader(Partner partner) noexcept {
  switch (partner) {
    case Partner::given_the_same:
      return Reader::partnered;
    case Partner::diverged_before:
      return Reader::after_divergence;
    case Partner::given_others:
    case Partner::none:
      break;
  }
  return Reader::alone;
}

void AloneMemory::note_read(const Slot& slot, Partner partner, bool outermost) {
  if (const auto known = made_.find(slot.storage); known != made_.end()) {
    known->second.reader = std::max(known->second.reader, reader(partner));
  } else if (!outermost) {
    return;
  } else if (partner == Partner::none) {
    if (reads_.size() < kKept) ++reads_[slot.storage].alone;
  } else if (const auto reads = reads_.find(slot.storage); reads != reads_.end()) {
    reads->second.partnered = true;
  }
}

void AloneMemory::read(const Window& window, std::uint32_t item, Partner partner) {
  const bool has_partner = partner != Partner::none;
  if (has_partner && made_.empty() && changed_.empty() && reads_.empty()) return;
  const bool op = window.event(item).kind == EventKind::op;
  for (std::uint32_t index = item; index < (op ? window.end(item) : item + 1); ++index) {
    const Event& event = window.event(index);
    if (event.flags & event_flag::view) continue;
    if (!has_partner && facts::Op(event.op).has(facts::fact::adopts)) continue;
    for (const Slot& slot : event.slots) {
      // What one run alone passes on, as a node of backward does its gradient, is not read yet.
      if (comparison::reads(slot) && (op || has_partner))
        note_read(slot, partner, op && index == item);
      if (has_partner) settle(slot);
    }
  }
}

}  // namespace ulpscope::comparison

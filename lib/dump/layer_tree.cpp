#include "dump/layer_tree.hpp"

#include <algorithm>

#include "dump/bytes.hpp"

namespace ulpscope::dump {
namespace {

constexpr std::size_t kMostCalls = 1U << 18;
constexpr std::int64_t kStepsKept = 2;  // backward may run when the next forward has begun

EventKind kind_of(const HeldEvent& event) { return static_cast<EventKind>(event.row().kind); }

bool is_module(const HeldEvent& event) {
  return kind_of(event) == EventKind::module || kind_of(event) == EventKind::module_output;
}

/// A name as one part of a path: without slashes, and never "." or "..".
std::string escaped(std::string_view name) {
  const bool only_dots = name.find_first_not_of('.') == std::string_view::npos;
  std::string text;
  for (const char letter : name) {
    if (letter == '/') {
      text += "%2F";
    } else if (letter == '%') {
      text += "%25";
    } else if (letter == '\0') {
      text += "%00";
    } else if (letter == '.' && only_dots) {
      text += "%2E";
    } else {
      text += letter;
    }
  }
  return text;
}

bool is_escaped(std::string_view name) { return escaped(name) != name; }

std::string step_text(std::int64_t step) {
  if (step == kSetup) return "setup";
  const std::string digits = std::to_string(step);
  return "steps/" + std::string(6 - std::min<std::size_t>(digits.size(), 6), '0') + digits;
}

/// Where in an event's phase a call is.
std::string_view direction(const PlacedEvent& placed) {
  return placed.phase == Phase::eval ? "eval" : "forward";
}

std::string_view role_text(const HeldEvent& event, const ring::SlotRow& slot) {
  const auto role = static_cast<Role>(slot.role);
  if (kind_of(event) != EventKind::module_gradient) return name(role);
  return role == Role::input ? "grad_output" : "grad_input";
}

/// "input.1", or "input.1.2" where argument 1 is a list of more than one tensor.
std::string slot_text(const HeldEvent& event, const ring::SlotRow& slot) {
  std::string text(role_text(event, slot));
  text += '.' + std::to_string(slot.index);
  const auto slots = event.slots();
  const bool is_list = std::any_of(slots.begin(), slots.end(), [&](const ring::SlotRow& other) {
    return other.role == slot.role && other.index == slot.index && other.element != 0;
  });
  if (is_list) text += '.' + std::to_string(slot.element);
  return text;
}

}  // namespace

bool is_layer_event(const HeldEvent& event) noexcept {
  switch (kind_of(event)) {
    case EventKind::module:
    case EventKind::module_output:
    case EventKind::module_gradient:
    case EventKind::gradient:
    case EventKind::parameters:
      return true;
    default:
      return false;
  }
}

bool is_layer_slot(const HeldEvent& event, const ring::SlotRow& slot) noexcept {
  const std::uint32_t without = slot_flag::undefined | slot_flag::no_digest;
  if ((slot.flags & without) != 0 || (slot.flags & slot_flag::has_content) == 0) return false;
  switch (kind_of(event)) {
    case EventKind::module:
    case EventKind::module_output:
      return (slot.flags & (slot_flag::parameter | slot_flag::buffer)) == 0;
    case EventKind::module_gradient:
      return true;
    case EventKind::gradient:
      return slot.name != 0 && (slot.flags & slot_flag::gradient) != 0;
    case EventKind::parameters:
      return slot.name != 0;
    default:
      return false;
  }
}

std::string LayerTree::prefix(std::string_view root) const {
  return root.empty() || root == first_root_ ? "" : escaped(root) + "::";
}

std::string LayerTree::module_text(const Call& call) const {
  const auto text = [&](std::uint32_t name) {
    return name == 0 ? std::string_view() : names_.strings.at(name);
  };
  const std::string_view module = text(call.module);
  std::string path = prefix(text(call.root));
  if (module.empty()) return path += "(root)";
  if (escaped_modules_.at(call.module)) return path += escaped(module);
  return path += module;
}

void LayerTree::begin_step(std::int64_t step) {
  const std::int64_t oldest = step - kStepsKept;
  while (!order_.empty() && (order_.front().first <= oldest || order_.size() > kMostCalls)) {
    calls_.erase(order_.front().second);
    initial_parameters_.erase(order_.front().second);
    order_.pop_front();
  }
  while (!counts_.empty() && counts_.begin()->first.step <= oldest) counts_.erase(counts_.begin());
}

void LayerTree::note(std::uint32_t lane, std::int64_t step, const RingNames& ring,
                     const PlacedEvent& placed) {
  const HeldEvent& event = placed.event;
  const ring::EventRow& row = event.row();
  const EventKind kind = kind_of(event);
  if (!is_layer_event(event)) return;
  const auto text = [&](std::uint32_t id) {
    return id == 0 ? std::string_view() : names_.strings.at(ring.string(id));
  };
  const std::string_view root = text(row.root);
  if (!first_root_ && !root.empty()) first_root_ = root;
  if (kind != EventKind::module && kind != EventKind::parameters) return;
  begin_step(step);
  const Place place{lane, row.position};
  if (kind == EventKind::parameters) {
    if (!with_parameters_.emplace(root).second) return;
    initial_parameters_.insert(place);
  } else if (row.module != 0) {
    const std::uint32_t in = row.root == 0 ? 0 : ring.string(row.root);
    const std::uint32_t module = ring.string(row.module);
    if (const auto [at, first] = escaped_modules_.try_emplace(module); first)
      at->second = is_escaped(names_.strings.at(module));
    const Counted counted{step, placed.phase == Phase::eval, in, module};
    calls_.insert_or_assign(place, Call{in, module, counts_[counted]++});
  } else {
    return;
  }
  order_.push_back({step, place});
}

const LayerTree::Call* LayerTree::call_of(std::uint32_t lane, const HeldEvent& event) const {
  const ring::EventRow& row = event.row();
  const Place place = kind_of(event) == EventKind::module ? Place{lane, row.position}
                                                          : Place{row.forward_lane, row.forward};
  const auto found = calls_.find(place);
  return found == calls_.end() ? nullptr : &found->second;
}

std::vector<LayerTree::Entry> LayerTree::entries(std::uint32_t lane, std::int64_t step,
                                                 const RingNames& ring,
                                                 const PlacedEvent& placed) const {
  const HeldEvent& event = placed.event;
  if (!is_layer_event(event)) return {};
  const auto slots = event.slots();
  const bool any = std::any_of(slots.begin(), slots.end(), [&](const ring::SlotRow& slot) {
    return is_layer_slot(event, slot);
  });
  if (!any) return {};
  const auto text = [&](std::uint32_t id) {
    return id == 0 ? std::string_view() : names_.strings.at(ring.string(id));
  };
  const EventKind kind = kind_of(event);
  const bool is_gradient = kind == EventKind::gradient;
  std::string folder = step_text(step);
  std::string start;
  if (is_gradient) {
    folder += "/backward/";
    start = prefix(text(event.row().root));
  } else if (kind == EventKind::parameters) {
    const bool initial = initial_parameters_.contains({lane, event.row().position});
    folder = initial ? "setup/parameters/" : folder + "/optimizer/";
    start = prefix(text(event.row().root));
  } else {
    const Call* call = call_of(lane, event);
    if (call == nullptr) return {};
    folder += is_module(event) ? '/' + std::string(direction(placed)) + '/' : "/backward/";
    start = module_text(*call) + '/' + std::to_string(call->number) + '/';
  }
  std::vector<Entry> entries;
  for (const ring::SlotRow& slot : slots) {
    if (!is_layer_slot(event, slot)) continue;
    const bool named = is_gradient || kind == EventKind::parameters;
    const std::string last = named ? escaped(text(slot.name)) : slot_text(event, slot);
    entries.push_back({folder + start + last, &slot, is_gradient});
  }
  return entries;
}

std::vector<std::byte> LayerTree::save() const {
  ByteWriter out;
  out.put(first_root_.has_value());
  out.put_text(first_root_.value_or(""));
  out.put(static_cast<std::uint64_t>(with_parameters_.size()));
  for (const std::string& root : with_parameters_) out.put_text(root);
  return {out.bytes().begin(), out.bytes().end()};
}

bool LayerTree::restore(std::span<const std::byte> saved) {
  ByteReader in(saved);
  const bool known = in.get<bool>();
  const auto root = in.get_text();
  if (known) first_root_ = root;
  for (auto count = in.get<std::uint64_t>(); count > 0 && in.ok(); --count) {
    with_parameters_.emplace(in.get_text());
  }
  return in.ok();
}

}  // namespace ulpscope::dump

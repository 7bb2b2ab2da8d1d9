#include "compare/model/structure.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "compare/model/hash.hpp"

namespace ulpscope::comparison {
namespace {

/// Its tensors are numbered in the order in which the program reads them, which a rewrite may
/// change.
[[nodiscard]] bool has_numbers_by_reading(const Event& event) noexcept {
  return event.kind == EventKind::module_output || event.kind == EventKind::module_gradient;
}

[[nodiscard]] bool has_shape(const Slot& slot) noexcept {
  return slot.geometry != nullptr && !(slot.flags & slot_flag::undefined);
}

[[nodiscard]] bool same_shape(const Slot& a, const Slot& b) {
  if (a.role != b.role || has_shape(a) != has_shape(b)) return false;
  if (!has_shape(a)) return true;
  return a.geometry->dtype == b.geometry->dtype && a.geometry->sizes == b.geometry->sizes;
}

[[nodiscard]] bool same_argument(const Slot& a, const Slot& b) {
  return a.index == b.index && a.element == b.element && same_shape(a, b);
}

/// The update that follows decides whether the program's code between backward and the next forward
/// belongs to it, and one run may leave it out.
[[nodiscard]] Phase place_in_step(const Event& event) noexcept {
  const bool told_by_update =
      event.phase == Phase::optimizer && !(event.flags & event_flag::in_optimizer);
  return told_by_update ? Phase::data : event.phase;
}

[[nodiscard]] bool same_place(const Event& a, const Event& b) {
  if (place_in_step(a) != place_in_step(b) || a.has_module != b.has_module) return false;
  return !a.has_module || (a.module == b.module && a.root == b.root);
}

/// A hash of the digests of the slots that `wanted` accepts and that hold comparable bytes.
template <class Wanted>
[[nodiscard]] std::uint64_t digest_key(const Event& event, Wanted wanted) {
  constexpr std::uint32_t kMeaningless = slot_flag::undefined | slot_flag::no_digest |
                                         slot_flag::view | slot_flag::handle | slot_flag::opaque |
                                         slot_flag::overwritten | slot_flag::scratch |
                                         slot_flag::metadata_only | slot_flag::uninitialised;
  KeyHash hash;
  bool any = false;
  for (const Slot& slot : event.slots) {
    if (!wanted(slot.role) || (slot.flags & kMeaningless)) continue;
    if (!has_numbers_by_reading(event)) hash.add(std::uint64_t{slot.index} << 16 | slot.element);
    hash.add(slot.flags & slot_flag::logical ? slot.logical_digest : slot.digest);
    any = true;
  }
  return any ? hash.value() : 0;
}

}  // namespace

bool gives_memory(const Event& event) noexcept { return event.op == "aten::set_"; }

bool is_given(const Event& op, std::uint64_t storage) noexcept {
  return std::any_of(op.slots.begin(), op.slots.end(), [&](const Slot& slot) {
    return slot.role != Role::output && slot.storage == storage;
  });
}

bool gives_number(const Event& op) {
  const std::vector<Argument> all = arguments(op);
  return std::any_of(all.begin(), all.end(), [](const Argument& one) { return one.result; });
}

bool same_structure(const Event& a, const Event& b, Place place) {
  if (a.kind != b.kind || a.op != b.op || a.overload != b.overload) return false;
  if (place == Place::counts && !same_place(a, b)) return false;
  const bool by_reading = has_numbers_by_reading(a);
  if (a.kind != EventKind::op && place == Place::counts && !by_reading) return true;
  if (gives_memory(a)) return a.slots.size() == b.slots.size();
  return std::equal(a.slots.begin(), a.slots.end(), b.slots.begin(), b.slots.end(),
                    by_reading ? same_shape : same_argument);
}

std::uint64_t structure_key(const Event& event, Place place) {
  KeyHash hash;
  hash.add(static_cast<std::uint64_t>(event.kind)).add(event.op).add(event.overload);
  if (place == Place::counts) {
    hash.add(static_cast<std::uint64_t>(place_in_step(event)));
    hash.add(std::uint64_t{event.has_module});
    if (event.has_module) hash.add(event.module).add(event.root);
    if (event.kind != EventKind::op && !has_numbers_by_reading(event)) return hash.value();
  }
  if (gives_memory(event)) return hash.add(std::uint64_t{event.slots.size()}).value();
  for (const Slot& slot : event.slots) {
    const std::uint64_t number =
        has_numbers_by_reading(event) ? 0 : std::uint64_t{slot.index} << 16 | slot.element;
    hash.add(std::uint64_t{static_cast<std::uint8_t>(slot.role)} << 32 | number);
    if (!has_shape(slot)) continue;
    hash.add((std::uint64_t{slot.geometry->sizes.size()} << 8 |
              static_cast<std::uint8_t>(slot.geometry->dtype)) +
             1);
    for (const std::int64_t size : slot.geometry->sizes) hash.add(static_cast<std::uint64_t>(size));
  }
  return hash.value();
}

std::uint64_t name_key(const Event& event) {
  KeyHash hash;
  hash.add(static_cast<std::uint64_t>(event.kind)).add(event.op);
  // A program may call a model before or after its twin.
  if (event.kind == EventKind::parameters) hash.add(event.root);
  return hash.value();
}

std::uint64_t input_key(const Event& event) {
  return digest_key(event, [](Role role) { return role == Role::input; });
}

std::uint64_t output_key(const Event& event) {
  return digest_key(event, [](Role role) { return role != Role::input; });
}

std::uint64_t argument_key(const Event& event) {
  const auto* bytes = reinterpret_cast<const char*>(event.argument_bytes.data());
  return KeyHash().add(std::string_view(bytes, event.argument_bytes.size())).value();
}

}  // namespace ulpscope::comparison

#include "writer/symbols/inlined_calls.hpp"

#include <dwarf.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "writer/symbols/debug_file.hpp"
#include "writer/symbols/unit_members.hpp"

namespace ulpscope::writer {
namespace {

using ring::SelfPlace;

/// The operations that describe where something is at an address; empty if nothing does.
std::span<const Dwarf_Op> description(Dwarf_Die& die, unsigned attribute, Dwarf_Addr address) {
  Dwarf_Attribute found;
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  if (dwarf_attr_integrate(&die, attribute, &found) == nullptr ||
      dwarf_getlocation_addr(&found, address, &operations, &count, 1) != 1)
    return {};
  return {operations, count};
}

SelfPlace place(unsigned base, std::int64_t offset, bool in_memory) {
  constexpr std::int64_t kFarthest = std::numeric_limits<std::int32_t>::max();
  if (offset > kFarthest || offset < -kFarthest) return {};
  return {static_cast<std::uint16_t>(base), static_cast<std::uint16_t>(in_memory ? 1 : 0),
          static_cast<std::int32_t>(offset)};
}

bool is_between(unsigned operation, unsigned first, unsigned last) {
  return first <= operation && operation <= last;
}

/// What a function's variables in memory are counted from.
SelfPlace frame_base(Dwarf_Die& function, Dwarf_Addr address) {
  const auto operations = description(function, DW_AT_frame_base, address);
  if (operations.size() != 1) return {};
  const unsigned operation = operations[0].atom;
  if (operation == DW_OP_call_frame_cfa) return place(SelfPlace::kFrameEnd, 0, false);
  if (is_between(operation, DW_OP_reg0, DW_OP_reg31))
    return place(operation - DW_OP_reg0, 0, false);
  return {};
}

/// Descriptions other than these are rare, or say that the pointer is not kept.
SelfPlace place_of(std::span<const Dwarf_Op> operations, Dwarf_Die& function, Dwarf_Addr address) {
  if (operations.empty() || operations.size() > 2) return {};
  const bool in_memory = operations.size() == 1;
  if (!in_memory && operations[1].atom != DW_OP_stack_value) return {};
  const unsigned operation = operations[0].atom;
  const auto number = static_cast<std::int64_t>(operations[0].number);
  if (in_memory && is_between(operation, DW_OP_reg0, DW_OP_reg31))
    return place(operation - DW_OP_reg0, 0, false);
  if (is_between(operation, DW_OP_breg0, DW_OP_breg31))
    return place(operation - DW_OP_breg0, number, in_memory);
  if (operation != DW_OP_fbreg) return {};
  const SelfPlace base = frame_base(function, address);
  return base.base == SelfPlace::kNowhere ? base : place(base.base, number, in_memory);
}

/// Where a member function, inlined or not, finds `this`; nothing for a lambda inside one, which
/// has its captures instead.
std::optional<SelfPlace> self_of(Dwarf_Die& member, Dwarf_Die& function, Dwarf_Addr address) {
  Dwarf_Die die;
  if (dwarf_child(&member, &die) != 0) return SelfPlace{};
  do {
    Dwarf_Attribute attribute;
    const char* text = dwarf_formstring(dwarf_attr_integrate(&die, DW_AT_name, &attribute));
    if (dwarf_tag(&die) != DW_TAG_formal_parameter || text == nullptr) continue;
    const std::string_view name = text;
    if (name == "__closure") return std::nullopt;
    if (name == "this")
      return place_of(description(die, DW_AT_location, address), function, address);
  } while (dwarf_siblingof(&die, &die) == 0);
  return SelfPlace{};
}

class ObjectMembers {
 public:
  explicit ObjectMembers(const std::string& path) : file_(path) {
    Dwarf_Addr bias = 0;
    has_debug_information_ =
        file_.module() != nullptr && dwfl_module_getdwarf(file_.module(), &bias) != nullptr;
  }

  void read(std::uint64_t address, ring::InlinedCalls& answer) {
    answer.has_debug_information = has_debug_information_ ? 1 : 0;
    if (!has_debug_information_) return;
    auto unit = file_.unit_at(address + file_.bias());
    if (!unit) return;
    const Dwarf_Addr inside = address + file_.bias() - unit->bias;
    auto known = units_.find(dwarf_dieoffset(&unit->die));
    if (known == units_.end())
      known = units_.emplace(dwarf_dieoffset(&unit->die), members_of(unit->die)).first;
    const UnitMembers& members = known->second;

    std::vector<MemberRange> found;
    std::copy_if(
        members.ranges.begin(), members.ranges.end(), std::back_inserter(found),
        [&](const MemberRange& range) { return range.begin <= inside && inside < range.end; });
    std::ranges::sort(found, {}, &MemberRange::depth);
    Dwarf* debug = dwarf_cu_getdwarf(unit->die.cu);
    for (const MemberRange& range : found) {
      Dwarf_Die member;
      Dwarf_Die function;
      if (dwarf_offdie(debug, range.entry, &member) == nullptr ||
          dwarf_offdie(debug, range.function, &function) == nullptr)
        continue;
      const std::optional<SelfPlace> self = self_of(member, function, inside);
      if (!self) continue;
      if (range.depth == 0) {
        answer.is_member = 1;
        answer.function_self = *self;
      } else if (!answer.add(range.entry, *self, members.names[range.name])) {
        return;
      }
    }
  }

 private:
  DebugFile file_;
  bool has_debug_information_ = false;
  std::unordered_map<Dwarf_Off, UnitMembers> units_;
};

}  // namespace

struct InlinedCallReader::State {
  std::map<std::string, ObjectMembers, std::less<>> objects;
};

InlinedCallReader::InlinedCallReader() : state_(new State) {}
InlinedCallReader::InlinedCallReader(InlinedCallReader&&) noexcept = default;
InlinedCallReader& InlinedCallReader::operator=(InlinedCallReader&&) noexcept = default;
InlinedCallReader::~InlinedCallReader() = default;

void InlinedCallReader::read(std::string_view object, std::uint64_t address,
                             ring::InlinedCalls& answer) {
  auto found = state_->objects.find(object);
  if (found == state_->objects.end()) {
    const std::string path(object);
    found = state_->objects.try_emplace(path, path).first;
  }
  found->second.read(address, answer);
}

}  // namespace ulpscope::writer

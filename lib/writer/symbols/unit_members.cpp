#include "writer/symbols/unit_members.hpp"

#include <dwarf.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace ulpscope::writer {
namespace {

constexpr int kDeepest = 400;  ///< nesting of entries

const char* text_of(Dwarf_Die& die, unsigned attribute) {
  Dwarf_Attribute found;
  return dwarf_formstring(dwarf_attr_integrate(&die, attribute, &found));
}

const char* linkage_name(Dwarf_Die& die) {
  const char* name = text_of(die, DW_AT_linkage_name);
  return name != nullptr ? name : text_of(die, DW_AT_MIPS_linkage_name);
}

bool is_identifier(std::string_view name) {
  const auto is_word = [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter == '_';
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), is_word);
}

/// "7forward" of "forward".
std::string source_name(std::string_view name) { return std::to_string(name.size()).append(name); }

/// "torch::nn::Conv2dImpl::forward" and similar names, from "5torch..." on.
bool is_member_of_torchs_module(std::string_view scope) {
  constexpr std::string_view kNamespace = "5torch2nn";
  if (!scope.starts_with(kNamespace)) return false;
  scope.remove_prefix(kNamespace.size());
  std::size_t length = 0;
  while (!scope.empty() && std::isdigit(static_cast<unsigned char>(scope.front())) != 0) {
    length = length * 10 + static_cast<std::size_t>(scope.front() - '0');
    scope.remove_prefix(1);
  }
  return length <= scope.size() && scope.substr(0, length).ends_with("Impl");
}

bool may_belong_to_a_module(std::string_view name) {
  if (name.starts_with("_ZZ")) return true;
  if (!name.starts_with("_ZN")) return false;
  std::string_view scope = name.substr(3);
  scope.remove_prefix(std::min(scope.find_first_not_of("rVKRO"), scope.size()));  // qualifiers
  if (scope.starts_with("5torch")) return is_member_of_torchs_module(scope);
  return !scope.starts_with('S') && !scope.starts_with("9__gnu_cxx") && !scope.starts_with("2at") &&
         !scope.starts_with("3c10");
}

/// What an entry's mangled name begins with, for entries that the compiler has noted none for:
/// those with internal linkage.
struct Scope {
  std::string local;   ///< "Z4mainE" inside a function
  std::string nested;  ///< "12_GLOBAL__N_1"
  std::string name;    ///< the class's own, empty if this is none
  bool is_known = true;
  bool is_closure = false;  ///< the class of a lambda
};

/// GCC calls it by its parameters, Clang leaves it without a name.
bool is_of_a_lambda(const char* class_name) {
  return class_name == nullptr || std::string_view(class_name).starts_with("<lambda");
}

class Walk {
 public:
  explicit Walk(UnitMembers& found) : found_(found) {}

  void visit_inside(Dwarf_Die& outer, const Scope& scope, int depth) {
    Dwarf_Die die;
    if (depth > kDeepest || dwarf_child(&outer, &die) != 0) return;
    do visit(die, scope, depth);
    while (dwarf_siblingof(&die, &die) == 0);
  }

  /// Names the ranges; those whose function cannot be a module's are dropped.
  void finish() {
    for (std::size_t i = 0; i < found_.ranges.size(); ++i) {
      const std::optional<std::uint32_t> name = name_of(origins_[i]);
      if (!name) continue;
      MemberRange range = found_.ranges[i];
      range.name = *name;
      kept_.push_back(range);
    }
    found_.ranges = std::move(kept_);
  }

 private:
  void visit(Dwarf_Die& die, const Scope& scope, int depth) {
    switch (dwarf_tag(&die)) {
      case DW_TAG_namespace: {
        Scope inner = scope;
        const char* name = dwarf_diename(&die);
        inner.nested += name == nullptr ? "12_GLOBAL__N_1" : source_name(name);
        return visit_inside(die, inner, depth + 1);
      }
      case DW_TAG_class_type:
      case DW_TAG_structure_type: {
        Scope inner = scope;
        const char* name = dwarf_diename(&die);
        inner.is_closure = is_of_a_lambda(name);
        inner.is_known = scope.is_known && name != nullptr && is_identifier(name);
        if (inner.is_known) {
          inner.name = name;
          inner.nested += source_name(name);
        }
        return visit_inside(die, inner, depth + 1);
      }
      case DW_TAG_subprogram:
        return visit_function(die, scope, depth);
      case DW_TAG_inlined_subroutine: {
        ++inlined_;
        Dwarf_Attribute attribute;
        Dwarf_Die origin;
        if (dwarf_formref_die(dwarf_attr(&die, DW_AT_abstract_origin, &attribute), &origin) !=
            nullptr)
          add_ranges(die, origin);
        visit_inside(die, scope, depth + 1);
        --inlined_;
        return;
      }
      case DW_TAG_lexical_block:
      case DW_TAG_try_block:
      case DW_TAG_catch_block:
        return visit_inside(die, scope, depth + 1);
      default:
        return;
    }
  }

  void visit_function(Dwarf_Die& die, const Scope& scope, int depth) {
    if (!scope.name.empty()) note_member(die, scope);
    if (scope.is_closure) closures_.insert(dwarf_dieoffset(&die));
    Dwarf_Addr base = 0;
    Dwarf_Addr begin = 0;
    Dwarf_Addr end = 0;
    // One that is only inlined has no code, but a lambda inside of it may have.
    if (dwarf_ranges(&die, 0, &base, &begin, &end) <= 0)
      return visit_inside(die, inside_function(die), depth + 1);
    const Dwarf_Off outer = std::exchange(function_, dwarf_dieoffset(&die));
    add_ranges(die, die);
    visit_inside(die, inside_function(die), depth + 1);
    function_ = outer;
  }

  Scope inside_function(Dwarf_Die& die) {
    const char* name = dwarf_diename(&die);
    const char* linkage = linkage_name(die);
    if (linkage != nullptr && std::string_view(linkage).starts_with("_Z"))
      return {std::string("Z").append(linkage + 2).append("E"), {}, {}, true, false};
    if (name != nullptr && std::string_view(name) == "main")
      return {"Z4mainE", {}, {}, true, false};
    return {{}, {}, {}, false, false};
  }

  /// Constructors and operators have other names.
  void note_member(Dwarf_Die& die, const Scope& scope) {
    const char* name = dwarf_diename(&die);
    if (!scope.is_known || name == nullptr || !is_identifier(name) || scope.name == name ||
        linkage_name(die) != nullptr)
      return;
    members_[dwarf_dieoffset(&die)] =
        "_Z" + scope.local + "N" + scope.nested + source_name(name) + "E";
  }

  void add_ranges(Dwarf_Die& die, Dwarf_Die& origin) {
    Dwarf_Addr base = 0;
    MemberRange range{.entry = dwarf_dieoffset(&die), .function = function_, .depth = inlined_};
    for (std::ptrdiff_t next = 0;
         (next = dwarf_ranges(&die, next, &base, &range.begin, &range.end)) > 0;) {
      if (range.begin >= range.end) continue;
      found_.ranges.push_back(range);
      origins_.push_back(origin);
    }
  }

  /// Through the definition that a class has outside of it, and its abstract form.
  static Dwarf_Die declaration_of(Dwarf_Die die) {
    for (const unsigned link : {DW_AT_abstract_origin, DW_AT_specification}) {
      Dwarf_Attribute attribute;
      Dwarf_Die next;
      if (dwarf_formref_die(dwarf_attr(&die, link, &attribute), &next) != nullptr) die = next;
    }
    return die;
  }

  std::optional<std::uint32_t> name_of(Dwarf_Die& origin) {
    const Dwarf_Off offset = dwarf_dieoffset(&origin);
    const auto [known, is_new] = names_.try_emplace(offset);
    if (!is_new) return known->second;
    std::string name;
    Dwarf_Die declared = declaration_of(origin);
    if (closures_.contains(dwarf_dieoffset(&declared))) return std::nullopt;
    if (const char* linkage = linkage_name(origin)) {
      name = linkage;
    } else {
      const auto member = members_.find(dwarf_dieoffset(&declared));
      if (member != members_.end()) name = member->second;
    }
    if (!may_belong_to_a_module(name)) return std::nullopt;
    found_.names.push_back(std::move(name));
    known->second = static_cast<std::uint32_t>(found_.names.size() - 1);
    return known->second;
  }

  UnitMembers& found_;
  std::vector<Dwarf_Die> origins_;  ///< of the ranges
  std::vector<MemberRange> kept_;
  std::unordered_map<Dwarf_Off, std::string> members_;
  std::unordered_set<Dwarf_Off> closures_;  ///< functions of lambdas
  std::unordered_map<Dwarf_Off, std::optional<std::uint32_t>> names_;
  Dwarf_Off function_ = 0;
  std::uint16_t inlined_ = 0;
};

}  // namespace

UnitMembers members_of(Dwarf_Die unit) {
  UnitMembers found;
  Walk walk(found);
  walk.visit_inside(unit, {}, 0);
  walk.finish();
  return found;
}

}  // namespace ulpscope::writer

#include "writer/symbols/object_symbols.hpp"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <span>

#include "core/demangled.hpp"
#include "writer/symbols/debug_file.hpp"

namespace ulpscope::writer {
namespace {

constexpr std::size_t kLongestName = 300;

/// Empty if there is none.
std::string readable(const char* linkage_name) {
  std::string name = linkage_name == nullptr ? std::string() : demangled(linkage_name);
  if (name.size() > kLongestName) name = name.substr(0, kLongestName) + "...";
  return name;
}

/// A path, from the directory in which its unit was compiled.
std::string compiled_path(Dwarf_Die& unit, const char* path) {
  if (path == nullptr || *path == '/') return path == nullptr ? "" : path;
  Dwarf_Attribute attribute;
  const char* directory = dwarf_formstring(dwarf_attr(&unit, DW_AT_comp_dir, &attribute));
  return directory == nullptr ? path : std::string(directory) + "/" + path;
}

/// Qualified and with parameter types where the compiler noted its linkage name.
std::string function_name(Dwarf_Die& die) {
  Dwarf_Attribute attribute;
  for (const unsigned code : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    if (const char* name = dwarf_formstring(dwarf_attr_integrate(&die, code, &attribute))) {
      return readable(name);
    }
  }
  const char* name = dwarf_formstring(dwarf_attr_integrate(&die, DW_AT_name, &attribute));
  return name == nullptr ? "" : name;
}

/// Where an inlined function was called.
ObjectSymbols::Call call_site(Dwarf_Die& unit, Dwarf_Die& inlined) {
  ObjectSymbols::Call call;
  Dwarf_Attribute attribute;
  Dwarf_Word number = 0;
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  if (dwarf_formudata(dwarf_attr(&inlined, DW_AT_call_line, &attribute), &number) == 0) {
    call.line = static_cast<int>(number);
  }
  if (dwarf_formudata(dwarf_attr(&inlined, DW_AT_call_file, &attribute), &number) == 0 &&
      dwarf_getsrcfiles(&unit, &files, &count) == 0 && number < count) {
    call.path = compiled_path(unit, dwarf_filesrc(files, number, nullptr, nullptr));
  }
  return call;
}

constexpr int kDeepestScope = 64;

[[nodiscard]] bool may_hold_functions(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
         tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block;
}

/// The innermost function or block inside of `parent` with code at an address.
std::optional<Dwarf_Die> scope_inside(Dwarf_Die& parent, Dwarf_Addr address, int depth = 0) {
  Dwarf_Die child;
  if (depth == kDeepestScope || dwarf_child(&parent, &child) != 0) return std::nullopt;
  do {
    const int tag = dwarf_tag(&child);
    const bool is_scope =
        tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block;
    const bool is_here = is_scope && dwarf_haspc(&child, address) == 1;
    if (!is_here && !may_hold_functions(tag)) continue;
    auto inner = scope_inside(child, address, depth + 1);
    if (inner) return inner;
    if (is_here) return child;
  } while (dwarf_siblingof(&child, &child) == 0);
  return std::nullopt;
}

/// The same of a whole unit. dwarf_getscopes() looks into scopes that have the address only: it
/// does not find the functions of a class that is local to a function, such as a lambda's.
std::optional<Dwarf_Die> innermost_scope(Dwarf_Die& unit, Dwarf_Addr address) {
  Dwarf_Die* scopes = nullptr;
  if (dwarf_getscopes(&unit, address, &scopes) <= 0) return scope_inside(unit, address);
  const Dwarf_Die innermost = scopes[0];
  std::free(scopes);
  return innermost;
}

struct Symbol {
  std::uint64_t begin;
  std::uint64_t end;
  std::string_view name;
};

}  // namespace

struct ObjectSymbols::State {
  explicit State(const std::string& path) : file(path), module(file.module()) {}

  DebugFile file;
  Dwfl_Module* module;
  bool symbols_read = false;
  std::vector<Symbol> symbols;  ///< functions, by address

  void read_symbols();
  [[nodiscard]] std::string symbol_at(std::uint64_t address);
  [[nodiscard]] std::vector<Call> calls_from_debug_information(std::uint64_t address);
};

ObjectSymbols::ObjectSymbols(const std::string& path) : state_(new State(path)) {}

ObjectSymbols::~ObjectSymbols() = default;

void ObjectSymbols::State::read_symbols() {
  if (symbols_read) return;
  symbols_read = true;
  const int count = dwfl_module_getsymtab(module);
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    const char* name =
        dwfl_module_getsym_info(module, i, &symbol, &address, nullptr, nullptr, nullptr);
    if (name == nullptr || GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_size == 0) {
      continue;
    }
    symbols.push_back({address, address + symbol.st_size, name});
  }
  std::sort(symbols.begin(), symbols.end(),
            [](const Symbol& a, const Symbol& b) { return a.begin < b.begin; });
}

std::string ObjectSymbols::State::symbol_at(std::uint64_t address) {
  read_symbols();
  const auto after = std::upper_bound(
      symbols.begin(), symbols.end(), address,
      [](std::uint64_t wanted, const Symbol& symbol) { return wanted < symbol.begin; });
  if (after == symbols.begin()) return {};
  const Symbol& symbol = *std::prev(after);
  return address < symbol.end ? readable(symbol.name.data()) : std::string();
}

std::vector<ObjectSymbols::Call> ObjectSymbols::State::calls_from_debug_information(
    std::uint64_t address) {
  auto unit = file.unit_at(address);
  if (!unit) return {};
  auto innermost = innermost_scope(unit->die, address - unit->bias);
  if (!innermost) return {};
  Dwarf_Die* scopes = nullptr;
  const int count = dwarf_getscopes_die(&*innermost, &scopes);  // through inlined calls outwards
  if (count <= 0) return {};

  Call call;
  if (Dwarf_Line* line = dwarf_getsrc_die(&unit->die, address - unit->bias)) {
    dwarf_lineno(line, &call.line);
    call.path = compiled_path(unit->die, dwarf_linesrc(line, nullptr, nullptr));
  }
  std::vector<Call> calls;
  for (Dwarf_Die& scope : std::span(scopes, static_cast<std::size_t>(count))) {
    const int tag = dwarf_tag(&scope);
    if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
    call.function = function_name(scope);
    calls.push_back(call);
    if (tag == DW_TAG_subprogram) break;
    call = call_site(unit->die, scope);
  }
  std::free(scopes);
  return calls;
}

std::vector<ObjectSymbols::Call> ObjectSymbols::calls(std::uint64_t address) {
  if (state_->module == nullptr) return {};
  address += state_->file.bias();
  std::vector<Call> calls = state_->calls_from_debug_information(address);
  if (calls.empty()) {
    std::string function = state_->symbol_at(address);
    if (!function.empty()) calls.push_back({{}, 0, std::move(function)});
  }
  return calls;
}

}  // namespace ulpscope::writer

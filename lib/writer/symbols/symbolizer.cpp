#include "writer/symbols/symbolizer.hpp"

#include <elfutils/libdwfl.h>
#include <fmt/format.h>

#include <map>
#include <unordered_map>

#include "writer/symbols/object_symbols.hpp"
#include "writer/symbols/python_call.hpp"
#include "writer/symbols/source_directories.hpp"

namespace ulpscope::writer {

struct Symbolizer::State {
  struct Object {
    explicit Object(const std::string& path) : symbols(path) {}
    ObjectSymbols symbols;
    std::unordered_map<std::uint64_t, std::string> known;
  };
  std::map<std::string, Object, std::less<>> objects;
  PythonCalls python;
  SourceDirectories directories;
};

namespace {

std::string describe(ObjectSymbols& symbols, const SourceDirectories& directories,
                     std::string_view object, std::uint64_t offset) {
  const std::string place = fmt::format("{}+{:#x}", object.substr(object.rfind('/') + 1), offset);
  // A return address comes after the call; the call may be the last of its line or function.
  const auto calls = symbols.calls(offset == 0 ? 0 : offset - 1);
  std::string text;
  for (const ObjectSymbols::Call& call : calls) {
    if (!text.empty()) text += '\n';
    const std::string file = call.path.substr(call.path.rfind('/') + 1);
    std::string words = file.empty() ? place : fmt::format("{}:{}", file, call.line);
    if (!call.function.empty()) words += " " + call.function;
    text += directories.placed(std::move(words), call.path);
  }
  return text.empty() ? place : text;
}

}  // namespace

Symbolizer::Symbolizer() : state_(new State) {}
Symbolizer::Symbolizer(Symbolizer&&) noexcept = default;
Symbolizer& Symbolizer::operator=(Symbolizer&&) noexcept = default;
Symbolizer::~Symbolizer() = default;

std::string Symbolizer::operator()(std::string_view object, std::uint64_t offset) {
  if (is_python(object)) return state_->python(object, offset);
  auto found = state_->objects.find(object);
  if (found == state_->objects.end()) {
    const std::string path(object);
    found = state_->objects.try_emplace(path, path).first;
  }
  const auto [place, is_new] = found->second.known.try_emplace(offset);
  if (is_new) place->second = describe(found->second.symbols, state_->directories, object, offset);
  return place->second;
}

std::string Symbolizer::library() { return fmt::format("libdw {}", dwfl_version(nullptr)); }

}  // namespace ulpscope::writer

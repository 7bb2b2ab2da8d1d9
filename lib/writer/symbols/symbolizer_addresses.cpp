#include <fmt/format.h>

#include "writer/symbols/python_call.hpp"
#include "writer/symbols/symbolizer.hpp"

namespace ulpscope::writer {

struct Symbolizer::State {
  PythonCalls python;
};

Symbolizer::Symbolizer() : state_(new State) {}
Symbolizer::Symbolizer(Symbolizer&&) noexcept = default;
Symbolizer& Symbolizer::operator=(Symbolizer&&) noexcept = default;
Symbolizer::~Symbolizer() = default;

std::string Symbolizer::operator()(std::string_view object, std::uint64_t offset) {
  if (is_python(object)) return state_->python(object, offset);
  return fmt::format("{}+{:#x}", object.substr(object.rfind('/') + 1), offset);
}

std::string Symbolizer::library() { return "no library (addresses only)"; }

}  // namespace ulpscope::writer

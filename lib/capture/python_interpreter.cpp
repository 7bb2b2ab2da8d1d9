#include "capture/python_interpreter.hpp"

#include <dlfcn.h>

#include <optional>

namespace ulpscope::capture {
namespace {

std::optional<Interpreter> look_up() {
  Interpreter all;
#define ULPSCOPE_FIND(Result, name, arguments)                                 \
  all.name = reinterpret_cast<decltype(all.name)>(dlsym(RTLD_DEFAULT, #name)); \
  if (all.name == nullptr) return std::nullopt;
  ULPSCOPE_INTERPRETER(ULPSCOPE_FIND)
#undef ULPSCOPE_FIND
  return all;
}

}  // namespace

const Interpreter* Interpreter::get() {
  static const std::optional<Interpreter> found = look_up();
  return found ? &*found : nullptr;
}

}  // namespace ulpscope::capture

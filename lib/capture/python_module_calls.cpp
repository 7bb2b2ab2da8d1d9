/// Calls of Python's modules. They are so many and so short that they come as functions of the
/// interpreter itself: a call by ctypes would take longer than all the rest.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "capture/frames.hpp"
#include "capture/module_calls.hpp"
#include "capture/op_observer.hpp"
#include "capture/python_calls.hpp"
#include "capture/python_interpreter.hpp"

namespace ulpscope::capture {
namespace {

using Object = Interpreter::Object;

/// A new reference, dropped at the end of the scope.
class Owned {
 public:
  Owned(const Interpreter& python, Object* object) noexcept : python_(python), object_(object) {}
  ~Owned() { python_.Py_DecRef(object_); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  [[nodiscard]] Object* get() const noexcept { return object_; }

 private:
  const Interpreter& python_;
  Object* object_;
};

/// What the hooks keep about modules, and the names of what is looked up in those. All of it lives
/// as long as the process.
struct Hooks {
  const Interpreter& python;
  Object* look = nullptr;     ///< look(module, depth) -> its number, that of the module which it
                              ///< wraps if it is a wrapper, 0: it is not recorded
  Object* known = nullptr;    ///< dict: id of a module -> object with `reference` and `number`
  Object* library = nullptr;  ///< dict: type -> whether PyTorch defines it
  Object* global = nullptr;   ///< tuple of the dicts of hooks that hold for all modules

  Object* reference = python.PyUnicode_InternFromString("reference");
  Object* number = python.PyUnicode_InternFromString("number");
  Object* script = python.PyUnicode_InternFromString("_c");
  Object* forward = python.PyUnicode_InternFromString("forward");
  Object* modules = python.PyUnicode_InternFromString("_modules");
  std::array<Object*, 4> hooks{python.PyUnicode_InternFromString("_forward_hooks"),
                               python.PyUnicode_InternFromString("_forward_pre_hooks"),
                               python.PyUnicode_InternFromString("_backward_hooks"),
                               python.PyUnicode_InternFromString("_backward_pre_hooks")};
};

const Hooks* hooks = nullptr;

/// No exception of a lookup reaches the program.
Object* or_none(const Interpreter& python, Object* found) {
  if (found == nullptr) python.PyErr_Clear();
  return found;
}

Object* in_dict(const Interpreter& python, Object* dict, Object* key) {
  return or_none(python, python.PyDict_GetItemWithError(dict, key));
}

bool is_empty(const Interpreter& python, Object* dict) {
  const long size = python.PyDict_Size(dict);
  if (size < 0) python.PyErr_Clear();
  return size == 0;
}

/// The number of a module that has been learned, else 0.
std::uint32_t known_number(Object* module) {
  const Interpreter& python = hooks->python;
  const Owned id(python, or_none(python, python.PyLong_FromVoidPtr(module)));
  Object* const known = id.get() == nullptr ? nullptr : in_dict(python, hooks->known, id.get());
  if (known == nullptr) return 0;
  const Owned reference(python, or_none(python, python.PyObject_GetAttr(known, hooks->reference)));
  if (reference.get() == nullptr) return 0;
  const Owned referred(
      python, or_none(python, python.PyObject_CallFunctionObjArgs(reference.get(), nullptr)));
  if (referred.get() != module) return 0;
  const Owned number(python, or_none(python, python.PyObject_GetAttr(known, hooks->number)));
  return number.get() == nullptr ? 0
                                 : static_cast<std::uint32_t>(python.PyLong_AsSize_t(number.get()));
}

/// Whether PyTorch defines the module's type, as an object; null if `look` has not seen it yet.
Object* is_of_library(Object* module) {
  const Interpreter& python = hooks->python;
  const Owned type(python, python.PyObject_Type(module));
  return in_dict(python, hooks->library, type.get());
}

/// Whether nothing of the program's runs inside the call, other modules aside.
/// @param of_library what is_of_library() returns
bool only_library_code(Object* of_library, Object* state) {
  const Interpreter& python = hooks->python;
  if (of_library == nullptr || python.PyObject_IsTrue(of_library) != 1) return false;
  if (in_dict(python, state, hooks->forward) != nullptr) return false;
  const auto nothing_in = [&](Object* name) {
    Object* const part = in_dict(python, state, name);
    return part != nullptr && is_empty(python, part);
  };
  if (!nothing_in(hooks->modules)) return false;
  if (!std::all_of(hooks->hooks.begin(), hooks->hooks.end(), nothing_in)) return false;
  const long globals = python.PyTuple_Size(hooks->global);
  for (long i = 0; i < globals; ++i)
    if (!is_empty(python, python.PyTuple_GetItem(hooks->global, i))) return false;
  return true;
}

/// An exception may have ended calls before they could say so.
void drop_modules(Thread& thread) {
  const auto stale = std::find_if(
      thread.frames.begin(), thread.frames.end(),
      [](const auto& frame) { return frame.info->kind == EventKind::module && !frame.from_stack; });
  if (stale != thread.frames.end())
    close_frames_above(thread, static_cast<std::size_t>(stale - thread.frames.begin()));
}

/// Whether this is the call that the one around it stands for: of the module of a wrapper.
bool has_begun(Thread& thread, std::uint32_t module) {
  const auto call =
      std::find_if(thread.frames.rbegin(), thread.frames.rend(), [](const Frame& frame) {
        return frame.info->kind == EventKind::module && !frame.from_stack;
      });
  if (call == thread.frames.rend() || call->module != module) return false;
  return std::exchange(call->by_wrapper, false);
}

struct Call {
  std::uint32_t module = 0;
  bool by_wrapper = false;  ///< of what stands for the module
  bool trusted = false;
  bool outermost = false;
};

/// @return none if the interpreter has an exception to raise
std::optional<std::size_t> begin_call(const Call& call, Object* args, Object* kwargs) {
  std::size_t frames = 0;
  bool raises = false;
  with_thread("the start of a call", [&](Thread& thread) {
    if (call.outermost) drop_modules(thread);
    if (has_begun(thread, call.module)) return;
    PythonTensors found(args);
    found.add(kwargs);
    raises = found.raise_again();
    if (raises) return;
    const GivenTensors given(found);
    begin_module_call(thread, forward_of(call.module), call.module, call.module, call.trusted,
                      given.get());
    thread.frames.back().by_wrapper = call.by_wrapper;
    frames = thread.frames.size();
  });
  if (raises) return std::nullopt;
  return frames;
}

/// begin(module, args, kwargs, depth) -> frames, 0 if there is nothing to end. Raises what `look`
/// and the program's signal handlers raise.
Object* begin(Object*, Object* const* arguments, long) {
  const auto [module, args, kwargs, depth] =
      std::array<Object*, 4>{arguments[0], arguments[1], arguments[2], arguments[3]};
  const Interpreter& python = hooks->python;
  const Owned state(python, or_none(python, python.PyObject_GenericGetDict(module, nullptr)));
  if (state.get() == nullptr) return python.PyLong_FromSize_t(0);
  const bool outermost = python.PyLong_AsSize_t(depth) == 0;
  Object* of_library = is_of_library(module);
  std::uint32_t number = 0;
  bool by_wrapper = false;
  if (!outermost && in_dict(python, state.get(), hooks->script) == nullptr && of_library != nullptr)
    number = known_number(module);
  if (number == 0) {
    const Owned looked(python,
                       python.PyObject_CallFunctionObjArgs(hooks->look, module, depth, nullptr));
    if (looked.get() == nullptr) return nullptr;
    number = static_cast<std::uint32_t>(python.PyLong_AsSize_t(looked.get()));
    by_wrapper = number != 0 && known_number(module) == 0;
    if (of_library == nullptr) of_library = is_of_library(module);
  }
  if (number == 0) return python.PyLong_FromSize_t(0);
  const bool trusted = only_library_code(of_library, state.get());
  const auto frames = begin_call(
      {.module = number, .by_wrapper = by_wrapper, .trusted = trusted, .outermost = outermost},
      args, kwargs);
  return frames ? python.PyLong_FromSize_t(*frames) : nullptr;
}

/// end(frames, result, threw). Raises what the program's signal handlers raise.
Object* end(Object*, Object* const* arguments, long) {
  const Interpreter& python = hooks->python;
  const std::size_t frames = python.PyLong_AsSize_t(arguments[0]);
  const bool threw = python.PyObject_IsTrue(arguments[2]) == 1;
  bool raises = false;
  with_thread("the end of a call", [&](Thread& thread) {
    if (thread.frames.size() < frames) return;
    close_frames_above(thread, frames);
    PythonTensors results(threw ? nullptr : arguments[1]);
    if (!threw) module_call_returns(thread, GivenTensors(results).get());
    end_event(thread, frames, threw);
    raises = results.raise_again();
  });
  return raises ? nullptr : python.PyLong_FromSize_t(0);
}

Interpreter::Method begin_method{.name = "begin", .call = begin};
Interpreter::Method end_method{.name = "end", .call = end};

}  // namespace
}  // namespace ulpscope::capture

using namespace ulpscope::capture;

/// Before the functions below are asked for. The hooks keep all that this is given.
/// @param look look(module, depth) -> the module's number, that of the module which it wraps if it
///        is a wrapper, 0 if it is not recorded
/// @param known dict: id of a module -> object with `reference`, weak, and `number`
/// @param library dict: type -> whether PyTorch defines it; `look` fills both
/// @param global tuple of the dicts of hooks that hold for all modules
ULPSCOPE_FOR_PYTHON void ulpscope_python_follow_modules(Interpreter::Object* look,
                                                        Interpreter::Object* known,
                                                        Interpreter::Object* library,
                                                        Interpreter::Object* global) {
  const Interpreter* const python = Interpreter::get();
  if (python == nullptr || hooks != nullptr) return;
  hooks = new Hooks{
      .python = *python, .look = look, .known = known, .library = library, .global = global};
}

/// begin(module, args, kwargs, depth) -> frames. @return null if nothing can be recorded
ULPSCOPE_FOR_PYTHON Interpreter::Object* ulpscope_python_begin_module() {
  return hooks == nullptr ? nullptr
                          : hooks->python.PyCFunction_NewEx(&begin_method, nullptr, nullptr);
}

/// end(frames, result, threw)
ULPSCOPE_FOR_PYTHON Interpreter::Object* ulpscope_python_end_module() {
  return hooks == nullptr ? nullptr
                          : hooks->python.PyCFunction_NewEx(&end_method, nullptr, nullptr);
}

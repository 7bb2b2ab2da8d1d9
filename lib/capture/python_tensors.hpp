#pragma once

#include <c10/core/TensorImpl.h>

#include <array>
#include <cstddef>
#include <span>

#include "capture/python_interpreter.hpp"

namespace ulpscope::capture {

/// Says which objects are tensors: those of these two types and of no others, since the attributes
/// of subclasses run the program's code. All are kept by the hooks.
/// @param address_of a function that returns the address of a tensor's TensorImpl, None if it
///        cannot; raises what belongs to the program alone.
void learn_python_tensors(Interpreter::Object* tensor, Interpreter::Object* parameter,
                          Interpreter::Object* address_of);

/// The tensors in a Python object, in tuples, lists and dicts of it up to a depth of 4, in order;
/// at most 64. Runs no code of the program, its signal handlers aside. Holding the interpreter's
/// lock.
class PythonTensors {
 public:
  /// @param value null for none
  explicit PythonTensors(Interpreter::Object* value) { add(value); }
  void add(Interpreter::Object* value);

  /// Gives the interpreter the exception that a signal handler has raised meanwhile, if one has:
  /// the rest has not been looked for then.
  bool raise_again();

  [[nodiscard]] std::span<c10::TensorImpl* const> get() const noexcept {
    return {found_.data(), count_};
  }

 private:
  void collect(const Interpreter& python, Interpreter::Object* value, int depth);
  [[nodiscard]] c10::TensorImpl* tensor_of(const Interpreter& python, Interpreter::Object* object);

  std::array<c10::TensorImpl*, 64> found_;
  std::size_t count_ = 0;
  std::array<Interpreter::Object*, 3> raised_{};  ///< what PyErr_Fetch gives
};

}  // namespace ulpscope::capture

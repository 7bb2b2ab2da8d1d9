#include "capture/python_tensors.hpp"

#include <cstring>

namespace ulpscope::capture {
namespace {

using Object = Interpreter::Object;

constexpr int kMostDepth = 4;

// Of PyType_GetFlags (Include/object.h).
constexpr unsigned long kIsList = 1UL << 25;
constexpr unsigned long kIsTuple = 1UL << 26;
constexpr unsigned long kIsDict = 1UL << 29;

/// Where a tensor's object has its TensorImpl (THPVariable, torch/csrc/autograd/python_variable.h).
struct Layout {
  Object* tensor = nullptr;
  Object* parameter = nullptr;
  std::size_t offset = 0;  ///< 0: unknown
};

Layout layout;

c10::TensorImpl* word_at(const Object* object, std::size_t offset) {
  c10::TensorImpl* word = nullptr;
  std::memcpy(&word, static_cast<const std::byte*>(object) + offset, sizeof word);
  return word;
}

}  // namespace

bool learn_python_tensors(Object* tensor, Object* parameter, const Object* example,
                          const c10::TensorImpl* address) {
  constexpr std::size_t kHead = 16;  // reference count and type
  constexpr std::size_t kFields = 4;
  for (std::size_t field = 0; field < kFields; ++field) {
    const std::size_t offset = kHead + field * sizeof(void*);
    if (word_at(example, offset) != address) continue;
    layout = {tensor, parameter, offset};
    return true;
  }
  return false;
}

void PythonTensors::add(Object* value) {
  const Interpreter* const python = Interpreter::get();
  if (python != nullptr && layout.offset != 0) collect(*python, value, 0);
}

void PythonTensors::collect(const Interpreter& python, Object* value, int depth) {
  Object* const type = python.PyObject_Type(value);
  python.Py_DecRef(type);  // the value holds it
  if (type == layout.tensor || type == layout.parameter) {
    c10::TensorImpl* const tensor = word_at(value, layout.offset);
    if (tensor != nullptr && count_ < found_.size()) found_[count_++] = tensor;
    return;
  }
  if (depth == kMostDepth) return;
  const unsigned long flags = python.PyType_GetFlags(type);
  if ((flags & kIsTuple) != 0) {
    const long size = python.PyTuple_Size(value);
    for (long i = 0; i < size; ++i) collect(python, python.PyTuple_GetItem(value, i), depth + 1);
  } else if ((flags & kIsList) != 0) {
    const long size = python.PyList_Size(value);
    for (long i = 0; i < size; ++i) collect(python, python.PyList_GetItem(value, i), depth + 1);
  } else if ((flags & kIsDict) != 0) {
    long at = 0;
    Object* key = nullptr;
    Object* each = nullptr;
    while (python.PyDict_Next(value, &at, &key, &each) != 0) collect(python, each, depth + 1);
  }
}

}  // namespace ulpscope::capture

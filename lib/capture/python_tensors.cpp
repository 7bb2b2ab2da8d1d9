#include "capture/python_tensors.hpp"

#include <cstring>
#include <utility>

namespace ulpscope::capture {
namespace {

using Object = Interpreter::Object;

constexpr int kMostDepth = 4;

// Of PyType_GetFlags (Include/object.h).
constexpr unsigned long kIsList = 1UL << 25;
constexpr unsigned long kIsTuple = 1UL << 26;
constexpr unsigned long kIsDict = 1UL << 29;

/// What the hooks have said, and where a tensor's object has its TensorImpl (THPVariable,
/// torch/csrc/autograd/python_variable.h), as the first tensor shows.
struct Known {
  Object* tensor = nullptr;
  Object* parameter = nullptr;
  Object* address_of = nullptr;
  std::size_t offset = 0;  ///< 0: unknown
};

Known known;

c10::TensorImpl* word_at(const Object* object, std::size_t offset) {
  c10::TensorImpl* word = nullptr;
  std::memcpy(&word, static_cast<const std::byte*>(object) + offset, sizeof word);
  return word;
}

void find_offset(const Object* object, const c10::TensorImpl* address) {
  constexpr std::size_t kHead = 16;  // reference count and type
  constexpr std::size_t kFields = 4;
  for (std::size_t field = kFields; field-- > 0;)
    if (const std::size_t at = kHead + field * sizeof(void*); word_at(object, at) == address)
      known.offset = at;
}

/// @param address an object that is an address; none if it is something else
c10::TensorImpl* tensor_at(const Interpreter& python, Object* address) {
  auto* const tensor = static_cast<c10::TensorImpl*>(python.PyLong_AsVoidPtr(address));
  if (tensor == nullptr) python.PyErr_Clear();
  return tensor;
}

}  // namespace

void learn_python_tensors(Object* tensor, Object* parameter, Object* address_of) {
  known.tensor = tensor;
  known.parameter = parameter;
  known.address_of = address_of;
}

void PythonTensors::add(Object* value) {
  const Interpreter* const python = Interpreter::get();
  if (python != nullptr && value != nullptr && known.tensor != nullptr) collect(*python, value, 0);
}

bool PythonTensors::raise_again() {
  if (raised_.front() == nullptr) return false;
  const auto [type, value, trace] = std::exchange(raised_, {});
  Interpreter::get()->PyErr_Restore(type, value, trace);
  return true;
}

c10::TensorImpl* PythonTensors::tensor_of(const Interpreter& python, Object* object) {
  if (known.offset != 0) return word_at(object, known.offset);
  Object* const address = python.PyObject_CallFunctionObjArgs(known.address_of, object, nullptr);
  if (address == nullptr) {
    python.PyErr_Fetch(&raised_[0], &raised_[1], &raised_[2]);
    return nullptr;
  }
  c10::TensorImpl* const tensor = tensor_at(python, address);
  python.Py_DecRef(address);
  if (tensor != nullptr) find_offset(object, tensor);
  return tensor;
}

void PythonTensors::collect(const Interpreter& python, Object* value, int depth) {
  Object* const type = python.PyObject_Type(value);
  python.Py_DecRef(type);  // the value holds it
  if (type == known.tensor || type == known.parameter) {
    if (count_ == found_.size() || raised_.front() != nullptr) return;
    if (c10::TensorImpl* const tensor = tensor_of(python, value)) found_[count_++] = tensor;
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

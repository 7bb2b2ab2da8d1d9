#pragma once

#include <cstddef>

namespace ulpscope::capture {

/// Functions of the interpreter's stable interface (https://docs.python.org/3/c-api/stable.html).
#define ULPSCOPE_INTERPRETER(FUNCTION)                              \
  FUNCTION(Object*, PyGILState_GetThisThreadState, ())              \
  FUNCTION(int, PyGILState_Ensure, ())                              \
  FUNCTION(void, PyGILState_Release, (int))                         \
  FUNCTION(Object*, PyEval_GetFrame, ())                            \
  FUNCTION(Object*, PyFrame_GetBack, (Object*))                     \
  FUNCTION(Object*, PyFrame_GetCode, (Object*))                     \
  FUNCTION(int, PyFrame_GetLineNumber, (Object*))                   \
  FUNCTION(Object*, PyObject_Type, (Object*))                       \
  FUNCTION(Object*, PyObject_GetAttrString, (Object*, const char*)) \
  FUNCTION(Object*, PyObject_GetAttr, (Object*, Object*))           \
  FUNCTION(Object*, PyObject_GenericGetDict, (Object*, void*))      \
  FUNCTION(int, PyObject_IsTrue, (Object*))                         \
  FUNCTION(Object*, PyObject_CallFunctionObjArgs, (Object*, ...))   \
  FUNCTION(Object*, PyCFunction_NewEx, (Method*, Object*, Object*)) \
  FUNCTION(unsigned long, PyType_GetFlags, (Object*))               \
  FUNCTION(Object*, PySys_GetObject, (const char*))                 \
  FUNCTION(long, PyTuple_Size, (Object*))                           \
  FUNCTION(Object*, PyTuple_GetItem, (Object*, long))               \
  FUNCTION(long, PyList_Size, (Object*))                            \
  FUNCTION(Object*, PyList_GetItem, (Object*, long))                \
  FUNCTION(int, PyDict_Next, (Object*, long*, Object**, Object**))  \
  FUNCTION(Object*, PyDict_GetItemString, (Object*, const char*))   \
  FUNCTION(long, PyDict_Size, (Object*))                            \
  FUNCTION(Object*, PyDict_GetItemWithError, (Object*, Object*))    \
  FUNCTION(void*, PyLong_AsVoidPtr, (Object*))                      \
  FUNCTION(Object*, PyLong_FromVoidPtr, (void*))                    \
  FUNCTION(std::size_t, PyLong_AsSize_t, (Object*))                 \
  FUNCTION(Object*, PyLong_FromSize_t, (std::size_t))               \
  FUNCTION(Object*, PyUnicode_InternFromString, (const char*))      \
  FUNCTION(const char*, PyUnicode_AsUTF8, (Object*))                \
  FUNCTION(void, PyErr_Clear, ())                                   \
  FUNCTION(void, PyErr_Fetch, (Object**, Object**, Object**))       \
  FUNCTION(void, PyErr_Restore, (Object*, Object*, Object*))        \
  FUNCTION(void, Py_IncRef, (Object*))                              \
  FUNCTION(void, Py_DecRef, (Object*))

/// They are looked up by name: it is any version of CPython.
struct Interpreter {
  using Object = void;

  /// PyMethodDef (Include/methodobject.h) of a function that is given its positional arguments.
  struct Method {
    const char* name;
    Object* (*call)(Object* self, Object* const* arguments, long count);
    int flags = 0x0080;  // METH_FASTCALL
    const char* doc = nullptr;
  };

#define ULPSCOPE_DECLARE(Result, name, arguments) Result(*name) arguments = nullptr;
  ULPSCOPE_INTERPRETER(ULPSCOPE_DECLARE)
#undef ULPSCOPE_DECLARE

  /// Null if there is none, or not all of it is exported.
  [[nodiscard]] static const Interpreter* get();
};

}  // namespace ulpscope::capture

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* PyTorch's extension module calls this through its procedure linkage table
 * (torch/csrc/stub.c: PyInit__C), wherever Python was told to look for modules: the object that is
 * preloaded is found first. */
__attribute__((visibility("default"))) void* initModule(void);

/* Why the hooks were not loaded, in a sentence for the user; empty if they were or need not be. */
__attribute__((visibility("default"))) const char* ulpscope_hooks_failure(void);

enum { file_input = 257 }; /* Py_file_input of compile.h */

static const char load_hooks[] =
    "import importlib.util, sys\n"
    "spec = importlib.util.spec_from_file_location(\n"
    "    '_ulpscope', folder + '/__init__.py', submodule_search_locations=[folder])\n"
    "sys.modules['_ulpscope'] = hooks = importlib.util.module_from_spec(spec)\n"
    "try:\n"
    "    spec.loader.exec_module(hooks)\n"
    "except Exception as error:\n"
    "    failure = f'{type(error).__name__}: {error}'\n"
    "    for name in [name for name in sys.modules if name.partition('.')[0] == '_ulpscope']:\n"
    "        del sys.modules[name]\n";

static char failure[512];

static void hooks_failed(const char* why) {
  snprintf(failure, sizeof failure,
           "the Python hooks could not be loaded (%s): modules, optimizers, generators and lines of "
           "this program are not recorded",
           why);
}

const char* ulpscope_hooks_failure(void) { return failure; }

#define FOUND(name) ((name##_function*)dlsym(RTLD_DEFAULT, #name))

/* By the functions of the Python that runs, whichever it is. */
static void run_hooks(const char* folder) {
  typedef void* Py_CompileString_function(const char*, const char*, int);
  typedef void* PyDict_New_function(void);
  typedef int PyDict_SetItemString_function(void*, const char*, void*);
  typedef void* PyUnicode_DecodeFSDefault_function(const char*);
  typedef void* PyEval_GetBuiltins_function(void);
  typedef void* PyEval_EvalCode_function(void*, void*, void*);
  typedef void* PyDict_GetItemString_function(void*, const char*);
  typedef const char* PyUnicode_AsUTF8_function(void*);
  typedef void PyErr_Clear_function(void);
  typedef void Py_DecRef_function(void*);
  Py_CompileString_function* compile = FOUND(Py_CompileString);
  PyDict_New_function* new_dict = FOUND(PyDict_New);
  PyDict_SetItemString_function* set = FOUND(PyDict_SetItemString);
  PyUnicode_DecodeFSDefault_function* decode = FOUND(PyUnicode_DecodeFSDefault);
  PyEval_GetBuiltins_function* builtins = FOUND(PyEval_GetBuiltins);
  PyEval_EvalCode_function* evaluate = FOUND(PyEval_EvalCode);
  PyErr_Clear_function* clear = FOUND(PyErr_Clear);
  Py_DecRef_function* release = FOUND(Py_DecRef);
  if (!compile || !new_dict || !set || !decode || !builtins || !evaluate || !clear || !release) {
    hooks_failed("this Python does not export its functions");
    return;
  }
  void* code = compile(load_hooks, "<ulpscope>", file_input);
  void* names = new_dict();
  void* path = decode(folder);
  void* done = NULL;
  if (code && names && path && set(names, "__builtins__", builtins()) == 0 &&
      set(names, "folder", path) == 0)
    done = evaluate(code, names, names);
  PyDict_GetItemString_function* get = FOUND(PyDict_GetItemString);
  PyUnicode_AsUTF8_function* encode = FOUND(PyUnicode_AsUTF8);
  void* error = done && get ? get(names, "failure") : NULL;
  const char* why = error && encode ? encode(error) : NULL;
  if (why)
    hooks_failed(why);
  else if (!done || error)
    hooks_failed("Python could not run them");
  clear();
  release(done);
  release(path);
  release(names);
  release(code);
}

void* initModule(void) {
  typedef void* InitModule(void);
  void* torch = dlopen("libtorch_python.so", RTLD_LAZY | RTLD_NOLOAD);
  InitModule* next = torch ? (InitModule*)dlsym(torch, "initModule") : NULL;
  if (!next) abort(); /* as the loader does for an undefined symbol */
  void* module = next();
  dlclose(torch);
  const char* directory = getenv("ULPSCOPE_CAPTURE_LIBRARY");
  if (!module || !directory || !getenv("ULPSCOPE_SOCKET")) return module;
  char folder[4096];
  const int length = snprintf(folder, sizeof folder, "%s/python", directory);
  if (length > 0 && (size_t)length < sizeof folder) run_hooks(folder);
  return module;
}

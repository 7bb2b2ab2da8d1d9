#include "capture/python_frames.hpp"

#include <ATen/Context.h>
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "capture/memory.hpp"
#include "capture/value.hpp"

namespace ulpscope::capture {
namespace {

constexpr std::size_t kMostCodes = 65536;
constexpr auto kLongestWait = std::chrono::seconds(1);

/// Functions of the interpreter's stable interface, looked up by name: it is any version of
/// CPython.
struct Interpreter {
  using Object = void;
  Object* (*PyGILState_GetThisThreadState)();
  int (*PyGILState_Ensure)();
  void (*PyGILState_Release)(int state);
  Object* (*PyEval_GetFrame)();
  Object* (*PyFrame_GetBack)(Object* frame);
  Object* (*PyFrame_GetCode)(Object* frame);
  int (*PyFrame_GetLineNumber)(Object* frame);
  Object* (*PyObject_GetAttrString)(Object* object, const char* name);
  const char* (*PyUnicode_AsUTF8)(Object* text);
  void (*PyErr_Clear)();
  void (*Py_IncRef)(Object* object);
  void (*Py_DecRef)(Object* object);

  /// Null if there is none, or not all of it is exported.
  static const Interpreter* get() {
    static const Interpreter found = look_up();
    return found.Py_DecRef == nullptr ? nullptr : &found;
  }

 private:
  static Interpreter look_up() {
    Interpreter all{};
    bool complete = true;
    const auto find = [&complete]<class Function>(Function*& function, const char* name) {
      function = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
      complete &= function != nullptr;
    };
    find(all.PyGILState_GetThisThreadState, "PyGILState_GetThisThreadState");
    find(all.PyGILState_Ensure, "PyGILState_Ensure");
    find(all.PyGILState_Release, "PyGILState_Release");
    find(all.PyEval_GetFrame, "PyEval_GetFrame");
    find(all.PyFrame_GetBack, "PyFrame_GetBack");
    find(all.PyFrame_GetCode, "PyFrame_GetCode");
    find(all.PyFrame_GetLineNumber, "PyFrame_GetLineNumber");
    find(all.PyObject_GetAttrString, "PyObject_GetAttrString");
    find(all.PyUnicode_AsUTF8, "PyUnicode_AsUTF8");
    find(all.PyErr_Clear, "PyErr_Clear");
    find(all.Py_IncRef, "Py_IncRef");
    find(all.Py_DecRef, "Py_DecRef");
    if (!complete) all.Py_DecRef = nullptr;
    return all;
  }
};

/// What is known about the code of functions, by address. Code that is known is kept alive.
struct KnownCode {
  std::mutex mutex;
  std::pmr::unordered_map<const void*, std::uint32_t> names{&process_memory()};
};

KnownCode& known_code() {
  static KnownCode& instance = immortal<KnownCode>();
  return instance;
}

std::atomic<bool> ended{false};
std::atomic<int> takers{0};

/// The path of the object that contains an address, without its last `parts` parts; ends with '/'.
std::string folder_of(const void* address, int parts) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  std::string path = info.dli_fname;
  for (; parts > 0 && !path.empty(); --parts)
    path.resize(path.find_last_of('/', path.size() - 2) + 1);
  return path;
}

/// Whether a file is PyTorch's, the recorder's or no file at all.
bool is_no_program(std::string_view file) {
  static const std::string torch =
      folder_of(reinterpret_cast<const void*>(&at::globalContext), 2);  // torch/lib/libtorch_cpu.so
  static const std::string hooks = folder_of(&ended, 1) + "python/";
  return file.empty() || file.front() == '<' || (!torch.empty() && file.starts_with(torch)) ||
         file.starts_with(hooks);
}

std::string text_of(const Interpreter& python, void* object, const char* attribute) {
  std::string text;
  void* const value = python.PyObject_GetAttrString(object, attribute);
  const char* const bytes = value == nullptr ? nullptr : python.PyUnicode_AsUTF8(value);
  if (bytes != nullptr) text = bytes;
  if (bytes == nullptr) python.PyErr_Clear();
  python.Py_DecRef(value);
  return text;
}

/// The name id of "python:FILE\nFUNCTION", 0 for code that is none of the program's.
std::uint32_t name_of_code(const Interpreter& python, void* code) {
  KnownCode& known = known_code();
  {
    const std::lock_guard guard(known.mutex);
    const auto found = known.names.find(code);
    if (found != known.names.end()) return found->second;
  }
  const std::string file = text_of(python, code, "co_filename");
  std::string function = text_of(python, code, "co_qualname");
  if (function.empty()) function = text_of(python, code, "co_name");
  const std::uint32_t name = is_no_program(file) ? 0 : name_id("python:" + file + "\n" + function);
  const std::lock_guard guard(known.mutex);
  if (known.names.size() < kMostCodes && known.names.emplace(code, name).second)
    python.Py_IncRef(code);
  return name;
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 29);
}

std::uint64_t take(const Interpreter& python, Thread& thread,
                   std::pmr::vector<ring::StackFrame>& frames, std::size_t most) {
  std::uint64_t hash = 0;
  void* frame = python.PyEval_GetFrame();
  python.Py_IncRef(frame);
  while (frame != nullptr) {
    void* const code = python.PyFrame_GetCode(frame);
    const std::uint32_t name = name_of_code(python, code);
    python.Py_DecRef(code);
    if (name != 0 && frames.size() < most) {
      const auto line = static_cast<std::uint64_t>(python.PyFrame_GetLineNumber(frame));
      frames.push_back({line, thread.string(name), 0});
      hash = mixed(mixed(hash, name), line);
    }
    void* const back = frames.size() < most ? python.PyFrame_GetBack(frame) : nullptr;
    python.Py_DecRef(frame);
    frame = back;
  }
  return hash;
}

}  // namespace

bool runs_python() noexcept {
  const Interpreter* const python = Interpreter::get();
  return python != nullptr && python->PyGILState_GetThisThreadState() != nullptr;
}

std::uint64_t take_python_frames(Thread& thread, std::pmr::vector<ring::StackFrame>& frames,
                                 std::size_t most) {
  const Interpreter* const python = Interpreter::get();
  if (python == nullptr || python->PyGILState_GetThisThreadState() == nullptr) return 0;
  takers.fetch_add(1);
  std::uint64_t hash = 0;
  if (!ended.load()) {
    const int state = python->PyGILState_Ensure();
    hash = take(*python, thread, frames, most);
    python->PyGILState_Release(state);
  }
  takers.fetch_sub(1);
  return hash;
}

void end_python_frames() noexcept {
  ended.store(true);
  const auto begin = std::chrono::steady_clock::now();
  while (takers.load() != 0 && std::chrono::steady_clock::now() - begin < kLongestWait)
    std::this_thread::yield();
}

}  // namespace ulpscope::capture

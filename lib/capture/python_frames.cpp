#include "capture/python_frames.hpp"

#include <ATen/Context.h>
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "capture/memory.hpp"
#include "capture/python_interpreter.hpp"
#include "capture/value.hpp"

namespace ulpscope::capture {
namespace {

using Object = Interpreter::Object;

constexpr std::size_t kMostCodes = 65536;
constexpr auto kLongestWait = std::chrono::seconds(1);

/// Holds the interpreter's lock.
class Lock {
 public:
  explicit Lock(const Interpreter& python) : python_(python), state_(python.PyGILState_Ensure()) {}
  ~Lock() { python_.PyGILState_Release(state_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  const Interpreter& python_;
  int state_;
};

/// What is known about the code of functions, by address. Code that is known is kept alive.
struct KnownCode {
  std::mutex mutex;
  std::pmr::unordered_map<const void*, std::uint32_t> names{&process_memory()};
  std::pmr::set<std::pmr::string, std::less<>> generated{&process_memory()};  ///< files
};

KnownCode& known_code() {
  static KnownCode& instance = immortal<KnownCode>();
  return instance;
}

std::atomic<bool> ended{false};
std::atomic<int> takers{0};

/// A thread that takes frames.
struct Taker {
  Taker() { takers.fetch_add(1); }
  ~Taker() { takers.fetch_sub(1); }
  Taker(const Taker&) = delete;
  Taker& operator=(const Taker&) = delete;
};

/// The path of the object that contains an address, without its last `parts` parts; ends with '/'.
std::string folder_of(const void* address, int parts) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  std::string path = info.dli_fname;
  for (; parts > 0 && !path.empty(); --parts)
    path.resize(path.find_last_of('/', path.size() - 2) + 1);
  return path;
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

/// The folder of a module that has been imported, with '/' at its end; empty if it is not known.
std::string folder_of_module(const Interpreter& python, const char* name) {
  Object* const modules = python.PySys_GetObject("modules");
  Object* const module = modules == nullptr ? nullptr : python.PyDict_GetItemString(modules, name);
  std::string file = module == nullptr ? "" : text_of(python, module, "__file__");
  file.resize(file.find_last_of('/') + 1);
  return file;
}

/// Whether a file is of Python's standard library, and not of a package that is installed in it.
bool is_standard(const Interpreter& python, std::string_view file) {
  static const std::string folder = folder_of_module(python, "os");
  if (folder.empty() || !file.starts_with(folder)) return false;
  file.remove_prefix(folder.size());
  return !file.starts_with("site-packages/") && !file.starts_with("dist-packages/");
}

/// Whether a file is Triton's, which is imported after PyTorch, if at all.
bool is_of_triton(const Interpreter& python, std::string_view file) {
  const std::string folder = folder_of_module(python, "triton");
  return !folder.empty() && file.starts_with(folder);
}

/// Whether a file is PyTorch's or of the package whose decorators it uses, Triton's, Python's, the
/// recorder's or no file at all.
bool is_no_program(const Interpreter& python, std::string_view file) {
  static const std::string torch =
      folder_of(reinterpret_cast<const void*>(&at::globalContext), 2);  // torch/lib/libtorch_cpu.so
  static const std::string hooks = folder_of(&ended, 1) + "python/";
  return file.empty() || file.front() == '<' || (!torch.empty() && file.starts_with(torch)) ||
         file.ends_with("/typing_extensions.py") || file.starts_with(hooks) ||
         is_standard(python, file) || is_of_triton(python, file);
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
  const bool left_out = is_no_program(python, file);
  const std::lock_guard guard(known.mutex);
  const std::uint32_t name = left_out || known.generated.contains(std::string_view(file))
                                 ? 0
                                 : name_id("python:" + file + "\n" + function);
  if (known.names.size() < kMostCodes && known.names.emplace(code, name).second)
    python.Py_IncRef(code);
  return name;
}

void take(const Interpreter& python, Thread& thread, std::size_t most) {
  auto& frames = thread.stack_frames;
  Object* frame = python.PyEval_GetFrame();
  python.Py_IncRef(frame);
  while (frame != nullptr) {
    Object* const code = python.PyFrame_GetCode(frame);
    const std::uint32_t name = name_of_code(python, code);
    python.Py_DecRef(code);
    if (name != 0 && frames.size() < most) {
      const auto line = static_cast<std::uint64_t>(python.PyFrame_GetLineNumber(frame));
      frames.push_back({line, thread.string(name), 0});
    }
    Object* const back = frames.size() < most ? python.PyFrame_GetBack(frame) : nullptr;
    python.Py_DecRef(frame);
    frame = back;
  }
}

}  // namespace

bool take_python_frames(Thread& thread, std::size_t most) {
  const Interpreter* const python = Interpreter::get();
  if (python == nullptr || python->PyGILState_GetThisThreadState() == nullptr) return false;
  const Taker taker;
  if (ended.load()) return true;
  const Lock lock(*python);
  take(*python, thread, most);
  return true;
}

void leave_out_frames_in(std::string_view file) {
  KnownCode& known = known_code();
  const std::lock_guard guard(known.mutex);
  known.generated.emplace(file);
}

void lock_python_frames() { known_code().mutex.lock(); }
void unlock_python_frames() { known_code().mutex.unlock(); }

void end_python_frames() noexcept {
  ended.store(true);
  const auto begin = std::chrono::steady_clock::now();
  while (takers.load() != 0 && std::chrono::steady_clock::now() - begin < kLongestWait)
    std::this_thread::yield();
}

}  // namespace ulpscope::capture

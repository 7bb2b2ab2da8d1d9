#include "capture/environment.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Version.h>
#include <dlfcn.h>
#include <sched.h>
#include <sys/utsname.h>
#include <torch/version.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <map>
#include <mutex>
#include <string>

#include "capture/mapped_libraries.hpp"
#include "capture/memory.hpp"
#include "capture/recorder.hpp"

#if __has_include(<gnu/libc-version.h>)
#include <gnu/libc-version.h>
#endif

namespace ulpscope::capture {
namespace {

using Settings = std::map<std::string, std::string>;

/// Variables that can change what is computed, or that guides tell people to set.
constexpr std::array kVariables = {"ATEN_CPU_CAPABILITY",
                                   "CUBLASLT_WORKSPACE_SIZE",
                                   "CUBLAS_WORKSPACE_CONFIG",
                                   "CUDA_LAUNCH_BLOCKING",
                                   "CUDA_VISIBLE_DEVICES",
                                   "DISABLE_ADDMM_CUDA_LT",
                                   "DNNL_MAX_CPU_ISA",
                                   "GLIBC_TUNABLES",
                                   "GOMP_CPU_AFFINITY",
                                   "KMP_AFFINITY",
                                   "KMP_BLOCKTIME",
                                   "MALLOC_PERTURB_",
                                   "MKL_CBWR",
                                   "MKL_DYNAMIC",
                                   "MKL_ENABLE_INSTRUCTIONS",
                                   "MKL_NUM_THREADS",
                                   "NCCL_ALGO",
                                   "NCCL_PROTO",
                                   "NVIDIA_TF32_OVERRIDE",
                                   "OMP_DYNAMIC",
                                   "OMP_NUM_THREADS",
                                   "OMP_PROC_BIND",
                                   "OMP_SCHEDULE",
                                   "OMP_WAIT_POLICY",
                                   "ONEDNN_DEFAULT_FPMATH_MODE",
                                   "ONEDNN_MAX_CPU_ISA",
                                   "OPENBLAS_CORETYPE",
                                   "OPENBLAS_NUM_THREADS",
                                   "PYTHONHASHSEED",
                                   "PYTORCH_ALLOC_CONF",
                                   "PYTORCH_CUDA_ALLOC_CONF",
                                   "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
                                   "TORCH_BLAS_PREFER_CUBLASLT",
                                   "TORCH_CUDNN_V8_API_DISABLED",
                                   "TORCH_LINEAR_FLATTEN_3D"};

/// The settings that a program changes while it runs, as they are read: comparing them costs less
/// than putting them into words.
struct Changing {
  std::uint64_t seed = 0;
  int threads = 0;
  int matmul_precision = -1;
  std::int8_t deterministic = -1;  ///< -1: could not be read; else 0 off, 1 on, 2 warn only
  std::int8_t fill_uninitialised = -1;
  std::int8_t cudnn = -1;
  std::int8_t cudnn_benchmark = -1;
  std::int8_t cudnn_deterministic = -1;
  std::int8_t cudnn_tf32 = -1;
  std::int8_t mkldnn = -1;
  std::int8_t flush_denormal = -1;

  friend bool operator==(const Changing&, const Changing&) = default;
};

/// Some getters refuse when a program has mixed old and new precision settings.
template <class Value, class Get>
void read(Value& value, Get&& get) {
  try {
    value = static_cast<Value>(get());
  } catch (...) {
  }
}

Changing read_changing() {
  Changing now;
  at::Context& context = at::globalContext();
  now.threads = intra_op_threads();
  now.flush_denormal = (_mm_getcsr() & 0x8040) != 0;
  read(now.seed, [] { return at::detail::getDefaultCPUGenerator().current_seed(); });
  read(now.deterministic, [&] {
    if (!context.deterministicAlgorithms()) return 0;
    return context.deterministicAlgorithmsWarnOnly() ? 2 : 1;
  });
  read(now.fill_uninitialised, [&] { return context.deterministicFillUninitializedMemory(); });
  read(now.cudnn, [&] { return context.userEnabledCuDNN(); });
  read(now.cudnn_benchmark, [&] { return context.benchmarkCuDNN(); });
  read(now.cudnn_deterministic, [&] { return context.deterministicCuDNN(); });
  read(now.cudnn_tf32, [&] { return context.allowTF32CuDNN(); });
  read(now.matmul_precision, [&] { return context.float32MatmulPrecision(); });
  read(now.mkldnn, [&] { return context.userEnabledMkldnn(); });
  return now;
}

void put(Settings& settings, const char* key, int value, std::initializer_list<const char*> words) {
  if (value >= 0 && static_cast<std::size_t>(value) < words.size())
    settings[key] = words.begin()[value];
}

Settings in_words(const Changing& now) {
  Settings words;
  words["threads.intra_op"] = std::to_string(now.threads);
  words["rng.cpu.seed"] = std::to_string(now.seed);
  const auto on_off = [&](const char* key, int value) { put(words, key, value, {"off", "on"}); };
  put(words, "flag.deterministic_algorithms", now.deterministic, {"off", "on", "warn"});
  put(words, "flag.matmul_precision", now.matmul_precision, {"highest", "high", "medium"});
  on_off("flag.fill_uninitialized", now.fill_uninitialised);
  on_off("flag.cudnn.enabled", now.cudnn);
  on_off("flag.cudnn.benchmark", now.cudnn_benchmark);
  on_off("flag.cudnn.deterministic", now.cudnn_deterministic);
  on_off("flag.cudnn.allow_tf32", now.cudnn_tf32);
  on_off("flag.mkldnn.enabled", now.mkldnn);
  on_off("flag.flush_denormal", now.flush_denormal);
  return words;
}

/// The value of `field` in /proc/cpuinfo, of the first processor.
std::string cpu_field(const std::string& field) {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with(field))
      if (const std::size_t colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return {};
}

std::string affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {};
  std::string list;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) list += (list.empty() ? "" : ",") + std::to_string(cpu);
  return list;
}

std::string program_path() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string();
}

/// The environment as it was when the process started, which the program cannot change.
Settings starting_environment() {
  Settings variables;
  std::ifstream environ_file("/proc/self/environ", std::ios::binary);
  for (std::string entry; std::getline(environ_file, entry, '\0');)
    if (const std::size_t equals = entry.find('='); equals != std::string::npos)
      variables[entry.substr(0, equals)] = entry.substr(equals + 1);
  return variables;
}

void add_variables(Settings& settings) {
  const Settings at_start = starting_environment();
  for (const char* name : kVariables) {
    const auto started = at_start.find(name);
    const char* now = std::getenv(name);
    const bool was_set = started != at_start.end();
    if (was_set) settings[std::string("env.") + name] = started->second;
    const bool changed = was_set ? now == nullptr || started->second != now : now != nullptr;
    if (changed) settings[std::string("env_now.") + name] = now == nullptr ? "" : now;
  }
}

/// The ISA that oneDNN uses, where its query is exported (oneapi/dnnl/dnnl.h, dnnl_cpu_isa_t).
std::string onednn_isa() {
  const auto query = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "dnnl_get_effective_cpu_isa"));
  return query == nullptr ? std::string() : std::to_string(query());
}

/// What cannot change while the process lives.
Settings fixed_settings() {
  Settings fixed;
  fixed["torch.version"] = TORCH_VERSION;
  fixed["program.path"] = program_path();
  fixed["cpu.model"] = cpu_field("model name");
  fixed["cpu.flags"] = cpu_field("flags");
  fixed["cpu.count"] = std::to_string(sysconf(_SC_NPROCESSORS_ONLN));
  fixed["cpu.affinity"] = affinity();
  fixed["os.libc"] = gnu_get_libc_version();
  if (utsname system{}; uname(&system) == 0)
    fixed["os.kernel"] = std::string(system.sysname) + " " + system.release;
  fixed["cpu.capability"] = at::get_cpu_capability();
  if (const std::string isa = onednn_isa(); !isa.empty()) fixed["cpu.onednn_isa"] = isa;
  for (const MappedLibrary& library : mapped_libraries()) {
    if (library.is_program)
      fixed["program.build_id"] = library.build_id;
    else
      fixed["library." + library.name] = library.build_id;
  }
  add_variables(fixed);
  return fixed;
}

struct Sent {
  std::mutex mutex;
  std::uint64_t generation = 0;
  Changing changing;
  Settings values;
};

Sent& sent() {
  static Sent& instance = immortal<Sent>();
  return instance;
}

}  // namespace

int intra_op_threads() {
  using Query = int (*)();
  static const auto query = reinterpret_cast<Query>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
  return query == nullptr ? 1 : query();
}

void sample_environment(Thread& thread) {
  Sent& before = sent();
  const std::lock_guard guard(before.mutex);
  const Changing now = read_changing();
  const bool first = before.generation != generation();
  if (!first && now == before.changing) return;
  before.changing = now;
  Settings settings = in_words(now);
  if (first) {
    before.generation = generation();
    before.values.clear();
    settings.merge(fixed_settings());
  }
  for (const auto& [key, value] : settings) {
    const auto [known, added] = before.values.try_emplace(key, value);
    if (!added && known->second == value) continue;
    known->second = value;
    thread.send_environment(key, value);
  }
}

}  // namespace ulpscope::capture

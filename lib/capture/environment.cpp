#include "capture/environment.hpp"

#include <ATen/Version.h>
#include <caffe2/core/common.h>
#include <sched.h>
#include <sys/utsname.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>

#include "capture/environment_flags.hpp"
#include "capture/environment_variables.hpp"
#include "capture/mapped_libraries.hpp"
#include "capture/memory.hpp"
#include "capture/onednn_isa.hpp"
#include "capture/recorder.hpp"
#include "capture/step_window.hpp"

#if __has_include(<gnu/libc-version.h>)
#include <gnu/libc-version.h>
#endif

namespace ulpscope::capture {
namespace {

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

/// The commit that LibTorch was built from, if its build options contain it.
std::string torch_commit() {
  const auto& options = caffe2::GetBuildOptions();
  const auto commit = options.find("COMMIT_SHA");
  return commit == options.end() ? std::string() : commit->second;
}

/// oneDNN reads its variables when it is first used, not when the process starts.
std::string isa_limit() {
  for (const char* name : {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"})
    if (const char* value = std::getenv(name)) return value;
  return {};
}

void put_known(EnvironmentValues& values, const char* key, const std::string& value) {
  if (!value.empty()) values[key] = value;
}

/// What cannot change while the process lives.
EnvironmentValues fixed_settings() {
  EnvironmentValues fixed = starting_variables();
  fixed["torch.version"] = TORCH_VERSION;
  put_known(fixed, "torch.git", torch_commit());
  fixed["program.path"] = program_path();
  const std::string flags = cpu_field("flags");
  fixed["cpu.model"] = cpu_field("model name");
  fixed["cpu.flags"] = flags;
  fixed["cpu.count"] = std::to_string(sysconf(_SC_NPROCESSORS_ONLN));
  fixed["cpu.affinity"] = affinity();
  fixed["cpu.capability"] = at::get_cpu_capability();
  if (at::hasMKLDNN()) put_known(fixed, "cpu.onednn_isa", onednn_isa(flags, isa_limit()));
  fixed["os.libc"] = gnu_get_libc_version();
  if (utsname system{}; uname(&system) == 0)
    fixed["os.kernel"] = std::string(system.sysname) + " " + system.release;
  return fixed;
}

EnvironmentValues library_settings() {
  EnvironmentValues values;
  for (const MappedLibrary& library : mapped_libraries())
    values[library.is_program ? "program.build_id" : "library." + library.name] = library.build_id;
  for (const auto& [key, globs] : {std::pair("capture.modules", settings().modules.view()),
                                   std::pair("capture.ops", settings().ops.view()),
                                   std::pair("capture.ignore", settings().ignore.view())})
    if (!globs.empty()) values[key] = globs;
  if (!settings().injection.view().empty())
    values["capture.inject"] =
        std::array{"op", "module", "origins"}.at(static_cast<std::size_t>(settings().inject_at));
  return values;
}

/// How far a thread's own settings apply to the process.
enum class Weight { any, main, trains };

struct Sent {
  std::mutex mutex;
  std::uint64_t generation = 0;
  Weight weight = Weight::any;
  std::uint32_t speaker = 0;  ///< its lane
  EnvironmentFlags flags;
  std::uint64_t variables = 0;
  std::uint64_t libraries = 0;
  EnvironmentValues values;
};

Sent& sent() {
  static Sent& instance = immortal<Sent>();
  return instance;
}

bool speaks_for_process(Sent& before, const Thread& thread, bool trains) {
  const Weight weight = trains ? Weight::trains : getpid() == gettid() ? Weight::main : Weight::any;
  if (thread.lane() != before.speaker && weight > before.weight) {
    before.speaker = thread.lane();
    before.weight = weight;
  } else if (thread.lane() == before.speaker) {
    before.weight = std::max(before.weight, weight);
  }
  return thread.lane() == before.speaker;
}

}  // namespace

void sample_environment(Thread& thread, bool trains) {
  Sent& before = sent();
  const std::lock_guard guard(before.mutex);
  EnvironmentValues values;
  if (before.generation != generation()) {
    before.generation = generation();
    before.speaker = thread.lane();
    before.weight = Weight::any;
    before.flags = {};
    before.variables = before.libraries = 0;
    before.values.clear();
    values = fixed_settings();
  }
  if (!speaks_for_process(before, thread, trains)) return;
  if (const EnvironmentFlags now = read_flags(); now != before.flags) {
    before.flags = now;
    values.merge(in_words(now));
  }
  if (const std::uint64_t now = variables_stamp(); now != before.variables) {
    before.variables = now;
    values.merge(changed_variables(before.values));
  }
  if (const std::uint64_t now = libraries_mapped(); now != before.libraries) {
    before.libraries = now;
    values.merge(library_settings());
  }
  // What has begun at this time may still turn out to belong to the last step.
  if (!values.empty()) (void)next_epoch();
  for (const auto& [key, value] : values) {
    const auto [known, added] = before.values.try_emplace(key, value);
    if (!added && known->second == value) continue;
    known->second = value;
    thread.send_environment(key, value);
  }
}

void sample_at_step(Thread& thread) {
  if (idle())
    thread.look_at_settings = true;
  else
    sample_environment(thread, /*trains=*/true);
}

void lock_environment() { sent().mutex.lock(); }
void unlock_environment() { sent().mutex.unlock(); }

}  // namespace ulpscope::capture

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ulpscope/error.hpp"

namespace torch::nn {
class Module;
}

/// Recording a LibTorch program from its own code:
///
///     ulpscope::Recorder recorder{"runs/a", {.level = ulpscope::Level::full}};
///     recorder.watch(*model, "model");
///     for (auto& batch : *loader) {
///       train(batch);
///       recorder.step();
///     }
///
/// The dump is the same as that of `ulpscope record -- PROGRAM`. Link `ulpscope::capture`. While
/// nothing is recorded every call costs one relaxed atomic load; with ULPSCOPE_DISABLED defined all
/// of it is empty and nothing needs to be linked.
namespace ulpscope {

/// What is kept of a value.
enum class Level : std::uint8_t {
  digest,  ///< a 128-bit digest
  stats,   ///< digest and statistics
  full,    ///< digest and bytes
};

/// What is recorded.
enum class Capture : std::uint8_t {
  ops,     ///< every op
  layers,  ///< module outputs, gradients and parameters
};

/// Whether an op's inputs are digested again where the program could have written them.
enum class Verify : std::uint8_t { full, off };

/// Options at their defaults can be set by the variables of `ulpscope record`: ULPSCOPE_LEVEL,
/// ULPSCOPE_STEPS, ...
struct RecorderOptions {
  Level level = Level::digest;
  Capture capture = Capture::ops;
  std::string steps = {};                 ///< "0-19", both included; empty: all
  std::vector<std::string> modules = {};  ///< globs of module paths; empty: all
  std::vector<std::string> ops = {};      ///< globs of op names; empty: all
  std::vector<std::string> ignore = {};   ///< globs of op names
  std::vector<std::string> redact = {};   ///< globs of settings whose values are masked
  Verify verify = Verify::full;
  bool stacks = false;          ///< record where in the program an op was called
  bool kernels = false;         ///< record which kernels an op launches on a GPU; needs CUPTI
  std::uint64_t max_bytes = 0;  ///< size of the dump at which the bytes of values end; 0: none
  std::uint32_t keep_last = 0;  ///< steps that the dump keeps at least; 0: all
  bool force = false;           ///< replace a dump that is in the directory
  /// Throw if nothing can be recorded. The default, because otherwise you would notice only after
  /// the run that nothing was recorded; with false the program continues, recording() is false and
  /// trouble() says why.
  bool required = true;
};

#ifndef ULPSCOPE_DISABLED

#define ULPSCOPE_EXPORTED __attribute__((visibility("default")))

namespace capture {
struct ProgramCalls;
}

namespace detail {
/// Set by the capture library while something is recorded.
extern "C" ULPSCOPE_EXPORTED std::atomic<const capture::ProgramCalls*> ulpscope_active_calls;

[[nodiscard]] inline const capture::ProgramCalls* active() noexcept {
  return ulpscope_active_calls.load(std::memory_order_relaxed);
}
[[nodiscard]] ULPSCOPE_EXPORTED void* begin_scope(const capture::ProgramCalls& calls,
                                                  std::string_view name) noexcept;
ULPSCOPE_EXPORTED void end_scope(const capture::ProgramCalls& calls, void* scope) noexcept;
ULPSCOPE_EXPORTED void note(const capture::ProgramCalls& calls, std::string_view key,
                            std::string_view value) noexcept;
ULPSCOPE_EXPORTED void note_rng(const capture::ProgramCalls& calls, std::string_view name,
                                std::span<const std::byte> state) noexcept;
ULPSCOPE_EXPORTED void note_batch(const capture::ProgramCalls& calls,
                                  std::span<const std::int64_t> ids) noexcept;
}  // namespace detail

/// Records this process from construction to destruction, on all its threads. One at a time; others
/// may follow, each with its own dump. A process that already is recorded by `ulpscope record`
/// stays with that recording: `directory` and options have no effect, and the dump says so. A
/// forked child continues unrecorded.
class ULPSCOPE_EXPORTED Recorder {
 public:
  /// Starts the process that writes the dump: `ulpscope` as ULPSCOPE_BINARY names it, beside this
  /// library, where it was installed, or on PATH. It is not a child of this process, unless this is
  /// one that adopts orphans (process 1, a subreaper).
  /// @param directory of the dump; empty: runs/PROGRAM-N.
  /// @throws Error with ErrorCode::usage if another Recorder exists; unless `required` is false,
  ///         Error with ErrorCode::io if nothing can be recorded.
  explicit Recorder(const std::filesystem::path& directory, const RecorderOptions& options = {});
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Ends the recording and waits until the dump is complete, at most a minute. Ops that are
  /// running in other threads may be missing from it.
  ~Recorder();

  /// False if recording could not begin or has stopped.
  [[nodiscard]] bool recording() const noexcept;
  /// Why recording could not begin, as a sentence; empty if it did.
  [[nodiscard]] const std::string& trouble() const noexcept;
  /// Where the dump is; empty in a process that `ulpscope record` records.
  [[nodiscard]] const std::filesystem::path& directory() const noexcept;

  /// Names the modules, parameters and buffers of `root` as its named_modules() does. Call it again
  /// after modules were added.
  /// @param name of the root in events; empty: its class name.
  void watch(const torch::nn::Module& root, std::string_view name = {}) noexcept;

  /// Ends a step: what comes next belongs to the following one. Without any call, steps follow from
  /// root modules' forwards and optimizers' steps.
  void step() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Names what runs on this thread while this object lives: ops report it among their callers. A
/// name that is the path of a watched module makes it a call of that module.
class Scope {
 public:
  explicit Scope(std::string_view name) noexcept
      : calls_(detail::active()),
        scope_(calls_ == nullptr ? nullptr : detail::begin_scope(*calls_, name)) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() {
    if (scope_ != nullptr) detail::end_scope(*calls_, scope_);
  }

 private:
  const capture::ProgramCalls* calls_;
  void* scope_;
};

/// Adds the setting `note.KEY` to the dump, from the current step on.
inline void note(std::string_view key, std::string_view value) noexcept {
  if (const auto* calls = detail::active()) detail::note(*calls, key, value);
}

/// Adds the digest of the state of a generator that is not LibTorch's, as setting `note.rng.NAME`,
/// from the current step on.
inline void note_rng(std::string_view name, std::span<const std::byte> state) noexcept {
  if (const auto* calls = detail::active()) detail::note_rng(*calls, name, state);
}

/// Notes which samples the step's batch has, as setting `note.batch`: the ids, or the digest of
/// more than 64.
inline void note_batch(std::span<const std::int64_t> ids) noexcept {
  if (const auto* calls = detail::active()) detail::note_batch(*calls, ids);
}

#undef ULPSCOPE_EXPORTED

#else

inline namespace disabled {

class Recorder {
 public:
  explicit Recorder(const std::filesystem::path& /*directory*/,
                    const RecorderOptions& /*options*/ = {}) {}
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder() {}  // NOLINT: a Recorder that is not mentioned again is not an unused variable

  [[nodiscard]] bool recording() const noexcept { return false; }
  [[nodiscard]] std::string trouble() const { return "built with ULPSCOPE_DISABLED"; }
  [[nodiscard]] std::filesystem::path directory() const { return {}; }
  void watch(const torch::nn::Module& /*root*/, std::string_view /*name*/ = {}) noexcept {}
  void step() noexcept {}
};

class Scope {
 public:
  explicit Scope(std::string_view /*name*/) noexcept {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() {}  // NOLINT: as Recorder's
};

inline void note(std::string_view /*key*/, std::string_view /*value*/) noexcept {}
inline void note_rng(std::string_view /*name*/, std::span<const std::byte> /*state*/) noexcept {}
inline void note_batch(std::span<const std::int64_t> /*ids*/) noexcept {}

}  // namespace disabled

#endif

}  // namespace ulpscope

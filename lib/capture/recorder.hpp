#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "capture/in_hook.hpp"
#include "ring/client.hpp"

/// The process as a whole: whether it records, its clock, its names.
namespace ulpscope::capture {

/// Which processes a recording is of.
enum class Follow : std::uint8_t {
  children,  ///< `ulpscope record`: a forked child records too, as a separate process
  nobody,    ///< a program's own Recorder: a forked child continues unrecorded
};

/// Connects to the writer and switches recording on: may be called again when an earlier recording
/// has ended. False: the process runs unrecorded, see refusal().
[[nodiscard]] bool start_recording(const char* socket_path, std::string_view capture_version,
                                   Follow follow);
[[nodiscard]] std::string_view refusal() noexcept;
[[nodiscard]] Follow follows() noexcept;

/// Ends the recording normally and waits until its dump is complete. Ops that are running in other
/// threads may be missing from it. Never throws.
void finish_recording() noexcept;

/// True while events are wanted. Cheap enough to call at every op.
[[nodiscard]] inline bool recording() noexcept;

/// Stops recording in this process permanently, and records why in the dump. Never throws.
void stop_recording(std::string_view reason) noexcept;

/// For a process that is about to restrict its system calls: ends its recording, in all threads.
/// None of them makes a system call for us from then on, nor does the end of the process or of a
/// child that it forks. Never throws.
void fall_silent() noexcept;
[[nodiscard]] inline bool silent() noexcept;

[[nodiscard]] const ring::Settings& settings() noexcept;

/// Whether module boundaries are recorded and ops are not.
[[nodiscard]] inline bool only_layers() noexcept {
  return settings().capture == ring::CaptureScope::layers;
}

/// A ring for the calling thread and the number of its lane.
struct OpenedRing {
  ring::Producer producer;
  std::uint32_t lane = 0;
};
[[nodiscard]] OpenedRing open_ring();

/// Has the writer say what is inlined at an address of a mapped file. False without an answer.
[[nodiscard]] bool ask_inlined_calls(std::string_view object, std::uint64_t address,
                                     ring::InlinedCalls& answer) noexcept;

/// Counts the sessions of this process: a forked child has its own session.
[[nodiscard]] std::uint64_t generation() noexcept;

/// A time stamp that no earlier call returned, in any thread.
[[nodiscard]] std::uint64_t next_epoch() noexcept;
[[nodiscard]] std::uint64_t current_epoch() noexcept;

/// Numbers a name, from 1; equal names have equal numbers for the process's life.
[[nodiscard]] std::uint32_t name_id(std::string_view name);
[[nodiscard]] std::string_view name_of(std::uint32_t id);

namespace detail {
extern std::atomic<bool> recording_switch;
extern std::atomic<bool> silence;

/// Set in a forked child that has not run anything yet: it introduces itself when it first does,
/// because most children end or execute a different program instead.
extern std::atomic<bool> newly_forked;
void begin_in_child() noexcept;
void end_session(std::string_view why) noexcept;
}  // namespace detail
inline bool recording() noexcept {
  return detail::recording_switch.load(std::memory_order_relaxed);
}
inline bool silent() noexcept { return detail::silence.load(std::memory_order_relaxed); }

/// Runs one hook body inside the program. On any error the program continues: recording stops, and
/// the dump says so.
template <class Body>
void guarded(std::string_view hook, Body&& body) noexcept {
  const detail::InHook in_hook;
  try {
    body();
  } catch (const std::exception& error) {
    const std::string_view what = error.what();
    stop_recording(what.substr(0, what.find('\n')));  // LibTorch's go on with a backtrace
  } catch (...) {
    stop_recording(hook);
  }
}

}  // namespace ulpscope::capture

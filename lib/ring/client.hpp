#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "ring/inlined_calls.hpp"
#include "ring/ring.hpp"
#include "ring/settings.hpp"

namespace ulpscope::ring {

/// A recorded process's side of the handshake. One per process, alive until the process ends.
///
/// No call throws, prints, allocates from the program's heap, raises a signal, changes errno or
/// leaves a descriptor open, and every call but leave() returns within the handshake timeout.
/// connect() and after_fork_in_child() must not overlap with other calls; open_ring() and
/// inlined_calls() may be called by several threads at once.
class Client {
 public:
  explicit constexpr Client(
      std::chrono::milliseconds timeout = std::chrono::milliseconds{5000}) noexcept
      : timeout_(timeout) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Introduces this process (ids, start time, rank variables, command line) to the writer that
  /// listens at `socket_path`. False: nothing is recorded, see refusal().
  [[nodiscard]] bool connect(const char* socket_path, std::string_view capture_version) noexcept;

  /// A ring for the calling thread, to be used only by it. A producer that does not record when
  /// there is no session; a ring that cannot be had ends the session, because a lane that is
  /// silently missing would be worse than a recording that stops.
  [[nodiscard]] Producer open_ring(bool is_main, std::string_view thread_name) noexcept;

  /// Has the writer look up an address of the file `object` in its debug information. False if it
  /// gives no answer; the session continues.
  [[nodiscard]] bool inlined_calls(std::string_view object, std::uint64_t address,
                                   InlinedCalls& answer) const noexcept;

  /// True between a successful connect() and the end of the session, on either side. False in a
  /// forked child until it connects itself.
  [[nodiscard]] bool recording() const noexcept;

  /// Ends recording in this process permanently: every producer of it stops at its next reserve().
  /// The dump will say `why`, the first one counts; empty if the rings report it themselves.
  void end_session(std::string_view why) noexcept;

  /// Ends the session normally, unlike end_session(): what was committed is delivered and the dump
  /// completed. Returns when that is done, at the latest after `patience`.
  void leave(std::chrono::milliseconds patience) noexcept;

  /// For pthread_atfork's child handler: forgets the parent's session, so that the child can
  /// connect() for a new one; if that fails, the parent's dump says so. Producers inherited from
  /// the parent never write again; destroy or overwrite them to give their address space back.
  /// @param forking_thread the thread of the parent that called fork, as the kernel numbers it
  void after_fork_in_child(std::uint32_t forking_thread) noexcept;

  /// In a forked child that is not recorded: has the parent's dump say why.
  void tell_parent(std::string_view why) noexcept;

  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
  [[nodiscard]] std::uint64_t session() const noexcept { return session_; }
  /// Why connect() failed, as a sentence; empty when it did not.
  [[nodiscard]] std::string_view refusal() const noexcept { return refusal_.view(); }

 private:
  std::chrono::milliseconds timeout_;
  SessionGuard* guard_ = nullptr;
  const WriterPage* writer_ = nullptr;
  SessionPage* page_ = nullptr;
  SessionPage* parents_page_ = nullptr;  ///< in a forked child: of the session of its parent
  std::uint64_t token_ = 0;
  std::uint64_t session_ = 0;
  std::uint64_t nonce_ = 0;
  std::uint64_t parent_session_ = 0;
  std::uint32_t forking_thread_ = 0;
  Text<108> socket_path_;
  Text<160> refusal_;
  Settings settings_;
};

}  // namespace ulpscope::ring

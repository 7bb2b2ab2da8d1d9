#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ring/descriptor.hpp"
#include "ring/handshake.hpp"

namespace ulpscope::ring {

/// A request as received, with the kernel's information about its sender. Nothing else is checked.
struct Packet {
  std::uint32_t pid = 0;  ///< 0 when the sender is in no pid namespace that is seen from here
  bool same_user = false;
  std::vector<std::byte> bytes;

  /// False if there are too few bytes for such a request; more may follow it.
  template <class Request>
  [[nodiscard]] bool copy(Request& request) const {
    if (bytes.size() < sizeof request) return false;
    std::memcpy(&request, bytes.data(), sizeof request);
    return true;
  }
};

/// The socket that programs being recorded connect to, in a directory that only this user can
/// enter. Both are removed on destruction.
class Listener {
 public:
  /// @throws Error with ErrorCode::io.
  Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }

  /// The next waiting connection, non-blocking; empty when there is none.
  [[nodiscard]] Descriptor accept() const;

 private:
  std::filesystem::path directory_;
  std::filesystem::path path_;
  Descriptor socket_;
};

enum class Received : std::uint8_t { nothing_yet, packet, broken };

/// Takes the one packet that a connection sends.
[[nodiscard]] Received receive(int connection, Packet& packet);

/// Sends a reply with at most kMostDescriptors descriptors. Never waits: a reply fits into an empty
/// socket, and a client that is gone needs none.
void reply(int connection, const void* bytes, std::size_t size,
           std::span<const int> attached) noexcept;

}  // namespace ulpscope::ring

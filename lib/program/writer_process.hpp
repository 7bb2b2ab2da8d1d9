#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ulpscope::program {

/// A process that writes a dump and waits for this one to introduce itself.
struct WriterProcess {
  std::string socket_path;
  std::filesystem::path dump;
};

/// Starts `executable` with `arguments`. It is not a child of this process: no wait() sees it, it
/// ends by itself, survives this process, and holds none of its descriptors, signals or terminals.
///
/// @throws Error with ErrorCode::io if it cannot be started; with its own message if it refuses.
[[nodiscard]] WriterProcess start_writer(const std::filesystem::path& executable,
                                         const std::vector<std::string>& arguments);

}  // namespace ulpscope::program

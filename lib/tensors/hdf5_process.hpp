#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tensors/hdf5_list.hpp"

namespace ulpscope::tensors {

struct Hdf5Answer;

/// What the child may compute, in seconds of processor time.
struct Hdf5Limits {
  std::uint64_t answer = 20;  ///< for one answer: unpacking 4 GB of gzip takes 15
  /// For all reads together, and further seconds for what they have read. Slow compressors need a
  /// quarter of that for their bytes; chunks that are unpacked again for every read need more.
  std::uint64_t reads = 20;
  std::uint64_t bytes_in_second = std::uint64_t{1} << 23;
  std::uint64_t elements_in_second = std::uint64_t{1} << 20;
};

/// A child process that calls HDF5, which crashes on damaged files: its memory is limited, and its
/// end is an Error here. It shares one box of elements with this process.
class Hdf5Process {
 public:
  /// The largest box, in bytes.
  static constexpr std::size_t kBox = kLargestBox;

  /// @throws Error with ErrorCode::io. Call it while this process has one thread.
  explicit Hdf5Process(const Hdf5Place& place, const Hdf5Limits& limits = {});
  /// One that is there already, at the other end of a socket. Both are its own from now on; the box
  /// is not shared.
  Hdf5Process(const std::filesystem::path& file, pid_t child, int socket);
  Hdf5Process(const Hdf5Process&) = delete;
  Hdf5Process& operator=(const Hdf5Process&) = delete;
  ~Hdf5Process();

  /// All entries of the file. Called once, first.
  /// @throws Error with ErrorCode::corrupt if HDF5 crashes on the file or what it says is wrong,
  /// and with ErrorCode::version if it cannot read it, or not within the limits.
  [[nodiscard]] std::vector<Hdf5Entry> list();
  /// See Hdf5Boxes::read(). The bytes are valid up to the next call.
  /// @throws the same.
  [[nodiscard]] std::span<const std::byte> read(const Hdf5Part& part,
                                                const std::vector<std::int64_t>& begin,
                                                const std::vector<std::int64_t>& size,
                                                std::size_t bytes);

 private:
  [[nodiscard]] std::string receive_answer();
  [[noreturn]] void fail_after_silence();
  [[noreturn]] void fail_after_end();
  /// `what` of `dataset`, or of the file if that is empty, as the child says.
  [[noreturn]] void fail(const Hdf5Answer& answer, const std::string& dataset = {});

  std::filesystem::path file_;
  pid_t child_ = -1;
  int socket_ = -1;
  std::byte* box_ = nullptr;
};

}  // namespace ulpscope::tensors

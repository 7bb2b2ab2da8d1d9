#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensors/hdf5_list.hpp"

/// What the process that calls HDF5 and the one that asks it say to each other: see Hdf5Process.
namespace ulpscope::tensors {

/// What an answer begins with.
enum class AnswerKind : std::uint64_t {
  entry,
  end,
  done,
  failed,   ///< the file is damaged
  refused,  ///< it cannot be read, whether it is damaged or not
};

/// What the process that calls HDF5 has said.
struct Hdf5Answer {
  AnswerKind kind = AnswerKind::failed;
  Hdf5Entry entry;      ///< of AnswerKind::entry
  std::string failure;  ///< of AnswerKind::failed and refused
};

/// What is read of a file: see Hdf5Boxes::read().
struct Hdf5Request {
  Hdf5Part part;
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> size;
  std::uint64_t bytes = 0;
};

/// The bytes of a message. Its length is sent before it.
[[nodiscard]] std::string encode(const Hdf5Entry& entry);
[[nodiscard]] std::string encode(const Hdf5Request& request);
/// Of AnswerKind::failed or refused.
[[nodiscard]] std::string encode_failure(AnswerKind kind, std::string_view what);
[[nodiscard]] std::string encode(AnswerKind kind);
/// Before a message of so many bytes.
[[nodiscard]] std::string encode_length(std::uint64_t bytes);

/// @throws std::out_of_range if a message ends too early.
[[nodiscard]] Hdf5Answer decode_answer(std::string_view message);
[[nodiscard]] Hdf5Request decode_request(std::string_view message);
[[nodiscard]] std::uint64_t decode_length(std::string_view bytes);

}  // namespace ulpscope::tensors

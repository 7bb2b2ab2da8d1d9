#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

/// Values of a reference run that the ops of a recorded program are given instead of their own: a
/// file that the writer's side makes and the program reads, of the same machine. After its header
/// come all lanes, all calls, all values, and then the bytes.
namespace ulpscope::ring::injection {

inline constexpr std::uint64_t kMagic = 0x31746a6e69706c75;  // "ulpinjt1"

/// Appended to the path of the file: that of an empty one, made by the process that is given
/// values.
inline constexpr std::string_view kTaken = ".taken";

/// Where values are given to the program.
enum class At : std::uint8_t {
  op,      ///< each op reads the reference's inputs
  module,  ///< the first op in each part of a module's call does
  origins  ///< what an op leaves, where it has read the reference's inputs and leaves other results
};

struct Header {
  std::uint64_t magic = kMagic;
  std::uint64_t lanes = 0;
  std::uint64_t calls = 0;
  std::uint64_t values = 0;
};

/// What a lane calls in backward, or all else that it calls: backward may run on another thread in
/// another run, as it does on a GPU.
struct Lane {
  std::uint64_t calls = 0;  ///< of ops, by position, with those inside of others; those of the
                            ///< lanes before it come before them
  std::uint32_t is_main = 0;
  std::uint32_t is_backward = 0;
};

/// What a call's values are needed for.
namespace call_flag {
inline constexpr std::uint32_t gives_inputs = 1U << 0;
inline constexpr std::uint32_t gives_results = 1U << 1;
}  // namespace call_flag

struct Call {
  std::uint64_t signature = 0;    ///< CallSignature
  std::uint64_t first_value = 0;  ///< index
  std::uint32_t values = 0;
  std::uint32_t flags = 0;
  std::uint64_t inside = 0;  ///< calls that run inside of it: they follow it
};

struct Value {
  std::uint64_t digest[2] = {};  ///< in memory order
  std::uint64_t offset = 0;      ///< of the bytes in the file; 0: they are not there
  std::uint64_t bytes = 0;       ///< packed in memory order
  std::uint64_t layout = 0;      ///< layout_of
  std::uint16_t index = 0;       ///< of the argument or the result
  std::uint16_t element = 0;
  std::uint8_t role = 0;  ///< ulpscope::Role
  std::uint8_t padding[3] = {};
};

namespace detail {
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t word) noexcept {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 29);
}
}  // namespace detail

/// Equal for calls of the same op, by the same op, with tensors of the same dtypes and shapes.
class CallSignature {
 public:
  void add_name(std::string_view name) noexcept {
    for (const char letter : name) add(static_cast<unsigned char>(letter));
    add(name.size());
  }
  void add_tensor(std::uint16_t index, std::uint16_t element, std::int8_t dtype,
                  std::span<const std::int64_t> sizes) noexcept {
    add(index);
    add(element);
    add(static_cast<std::uint64_t>(dtype));
    for (const std::int64_t size : sizes) add(static_cast<std::uint64_t>(size));
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return hash_; }

 private:
  void add(std::uint64_t word) noexcept { hash_ = detail::mix(hash_, word); }
  std::uint64_t hash_ = 1;
};

/// Equal for values whose elements are packed in the same order.
/// @param packed of packed_strides()
[[nodiscard]] inline std::uint64_t layout_of(std::int8_t dtype, std::span<const std::int64_t> sizes,
                                             std::span<const std::int64_t> packed) noexcept {
  std::uint64_t hash = detail::mix(1, static_cast<std::uint64_t>(dtype));
  for (const std::int64_t size : sizes) hash = detail::mix(hash, static_cast<std::uint64_t>(size));
  for (const std::int64_t step : packed) hash = detail::mix(hash, static_cast<std::uint64_t>(step));
  return hash;
}

}  // namespace ulpscope::ring::injection

#pragma once

#include <cstddef>
#include <cstdint>

/// How an op's arguments that are not tensors are written with its event: a sequence of items,
///   u16 index (bit 15 set: a returned scalar), u8 ArgumentTag, payload.
/// Little-endian, unaligned. Lists: u32 count, then the elements. Strings: u32 length, then bytes.
namespace ulpscope {

enum class ArgumentTag : std::uint8_t {
  none = 0,
  int_ = 1,           ///< i64
  double_ = 2,        ///< f64
  bool_ = 3,          ///< u8
  complex_ = 4,       ///< 2 x f64
  string = 5,         ///< u32 length, bytes
  dtype = 6,          ///< u8 Dtype
  layout = 7,         ///< u8
  memory_format = 8,  ///< u8
  device = 9,         ///< u8 type, i8 index
  generator = 10,     ///< u8 device type, i8 index: which kind, not which object
  int_list = 11,      ///< u32 count, i64 each
  double_list = 12,
  bool_list = 13,
  string_list = 14,
  opaque = 15,     ///< present but without a comparable value; u32 length, bytes: its type's name
  long_list = 16,  ///< a list too long to keep: u32 count, u64 digest high, u64 digest low
};

inline constexpr std::uint16_t kArgumentResult = 0x8000;
inline constexpr std::size_t kLongestArgumentList = 1024;

}  // namespace ulpscope

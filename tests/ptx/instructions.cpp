#include "tests/ptx/instructions.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <unordered_map>

#include "tests/ptx/machine.hpp"

namespace ulpscope::test::ptx {
namespace {

using Execute = Next (*)(Thread&, const Instruction&);
__extension__ typedef unsigned __int128 Wide;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
using f32 = float;
using f64 = double;
static_assert(sizeof(f32) == 4 && std::numeric_limits<f32>::is_iec559);

/// The first operand becomes `function` of the others, which are of type T.
template <class T, auto function>
Next one(Thread& thread, const Instruction& instruction) {
  const Operand* operand = instruction.operands.data();
  thread.set(operand[0], function(thread.get<T>(operand[1])));
  return Next::go_on;
}

template <class T, auto function>
Next two(Thread& thread, const Instruction& instruction) {
  const Operand* operand = instruction.operands.data();
  thread.set(operand[0], function(thread.get<T>(operand[1]), thread.get<T>(operand[2])));
  return Next::go_on;
}

template <class T>
T add(T a, T b) {
  return static_cast<T>(a + b);
}
template <class T>
T sub(T a, T b) {
  return static_cast<T>(a - b);
}
template <class T>
T mul(T a, T b) {
  return static_cast<T>(T{1} * 1U * a * b);  // no narrow number becomes an int that overflows
}
template <class T>
T divide(T a, T b) {
  if (b == 0) throw Violation("divides by zero");
  return static_cast<T>(a / b);
}
template <class T>
T remainder(T a, T b) {
  if (b == 0) throw Violation("divides by zero");
  return static_cast<T>(a % b);
}
template <class To, class From>
To mul_wide(From a, From b) {
  return static_cast<To>(static_cast<To>(a) * static_cast<To>(b));
}
template <class Twice, class T>
T mul_high(T a, T b) {
  return static_cast<T>(static_cast<Twice>(a) * b >> 8 * sizeof(T));
}
template <class T>
T smaller(T a, T b) {
  return b < a ? b : a;
}
template <class T>
T larger(T a, T b) {
  return a < b ? b : a;
}
f64 larger_number(f64 a, f64 b) { return std::fmax(a, b); }
template <class T>
T both(T a, T b) {
  return static_cast<T>(a & b);
}
template <class T>
T either(T a, T b) {
  return static_cast<T>(a | b);
}
template <class T>
T exclusive(T a, T b) {
  return static_cast<T>(a ^ b);
}
template <class T>
T inverse(T a) {
  return static_cast<T>(~a);
}
u8 negation(u8 a) { return a == 0 ? 1 : 0; }
template <class T>
T negative(T a) {
  return static_cast<T>(-a);
}
template <class T>
T same(T a) {
  return a;
}
u8 truth(u64 a) { return a != 0 ? 1 : 0; }
template <class T>
u32 leading_zeros(T a) {
  return static_cast<u32>(std::countl_zero(a));
}
u32 ones(u32 a) { return static_cast<u32>(std::popcount(a)); }
template <class To, class From>
To converted(From a) {
  return static_cast<To>(a);
}

/// Shifts by the width or more leave zeros, or signs.
template <class T, bool kLeft>
Next shift(Thread& thread, const Instruction& instruction) {
  const Operand* operand = instruction.operands.data();
  const T value = thread.get<T>(operand[1]);
  const u32 count = thread.get<u32>(operand[2]);
  constexpr u32 kBits = 8 * sizeof(T);
  T shifted = value < 0 ? static_cast<T>(-1) : static_cast<T>(0);
  if constexpr (kLeft)
    shifted = count < kBits ? static_cast<T>(value << count) : 0;
  else if (count < kBits)
    shifted = static_cast<T>(value >> count);
  thread.set(operand[0], shifted);
  return Next::go_on;
}

Next funnel_shift_left(Thread& thread, const Instruction& instruction) {
  const Operand* operand = instruction.operands.data();
  const u64 joined = u64{thread.get<u32>(operand[2])} << 32 | thread.get<u32>(operand[1]);
  const u32 count = thread.get<u32>(operand[3]) & 31;
  thread.set(operand[0], static_cast<u32>(joined << count >> 32));
  return Next::go_on;
}

/// Four bytes of eight, each of which may become its sign instead.
Next permute_bytes(Thread& thread, const Instruction& instruction) {
  const Operand* operand = instruction.operands.data();
  const u64 joined = u64{thread.get<u32>(operand[2])} << 32 | thread.get<u32>(operand[1]);
  const u32 selectors = thread.get<u32>(operand[3]);
  u32 result = 0;
  for (u32 place = 0; place < 4; ++place) {
    const u32 selector = selectors >> 4 * place & 15;
    u32 byte = static_cast<u32>(joined >> 8 * (selector & 7)) & 255;
    if ((selector & 8) != 0) byte = (byte & 128) != 0 ? 255 : 0;
    result |= byte << 8 * place;
  }
  thread.set(operand[0], result);
  return Next::go_on;
}

template <class T>
Next insert_bits(Thread& thread, const Instruction& instruction) {
  const Operand* operand = instruction.operands.data();
  const T from = thread.get<T>(operand[1]);
  const T into = thread.get<T>(operand[2]);
  const u32 position = thread.get<u32>(operand[3]) & 255;
  const u32 length = thread.get<u32>(operand[4]) & 255;
  T mask = 0;
  for (u32 bit = position; bit < position + length && bit < 8 * sizeof(T); ++bit)
    mask = static_cast<T>(mask | T{1} << bit);
  const T moved = position < 8 * sizeof(T) ? static_cast<T>(from << position) : T{0};
  thread.set(operand[0], static_cast<T>((into & ~mask) | (moved & mask)));
  return Next::go_on;
}

/// A bit field, extended by its highest bit.
Next extract_signed(Thread& thread, const Instruction& instruction) {
  const Operand* operand = instruction.operands.data();
  const u64 from = thread.get<u64>(operand[1]);
  const u32 position = thread.get<u32>(operand[2]) & 255;
  const u32 length = thread.get<u32>(operand[3]) & 255;
  const u32 highest = std::min(position + length - 1, 63U);
  u64 result = 0;
  for (u32 bit = 0; length != 0 && bit < 64; ++bit)
    result |= (from >> std::min(position + bit, highest) & 1) << bit;
  thread.set(operand[0], result);
  return Next::go_on;
}

template <class T>
Next multiply_add(Thread& thread, const Instruction& instruction) {
  const Operand* operand = instruction.operands.data();
  thread.set(operand[0], static_cast<T>(thread.get<T>(operand[1]) * thread.get<T>(operand[2]) +
                                        thread.get<T>(operand[3])));
  return Next::go_on;
}

/// 64 bits from two halves, or two halves of them.
Next move_64_bits(Thread& thread, const Instruction& instruction) {
  const Operand* operand = instruction.operands.data();
  if (instruction.operands.size() == 2) {
    thread.set(operand[0], thread.get<u64>(operand[1]));
  } else if (instruction.vector == 2) {
    const u64 value = thread.get<u64>(operand[2]);
    thread.set(operand[0], static_cast<u32>(value));
    thread.set(operand[1], static_cast<u32>(value >> 32));
  } else {
    thread.set(operand[0], u64{thread.get<u32>(operand[2])} << 32 | thread.get<u32>(operand[1]));
  }
  return Next::go_on;
}

template <class T>
Next select(Thread& thread, const Instruction& instruction) {
  const Operand* operand = instruction.operands.data();
  thread.set(operand[0], thread.get<T>(thread.get<u8>(operand[3]) != 0 ? operand[1] : operand[2]));
  return Next::go_on;
}

template <class T>
u8 equal(T a, T b) {
  return a == b;
}
template <class T>
u8 unequal(T a, T b) {
  return a != b;
}
template <class T>
u8 less(T a, T b) {
  return a < b;
}
template <class T>
u8 less_or_equal(T a, T b) {
  return a <= b;
}
template <class T>
u8 less_or_unordered(T a, T b) {
  return !(a >= b);
}
template <class T>
u8 greater_or_equal_or_unordered(T a, T b) {
  return !(a < b);
}
template <class T>
u8 greater(T a, T b) {
  return a > b;
}
template <class T>
u8 greater_or_equal(T a, T b) {
  return a >= b;
}

Next load(Thread& thread, const Instruction& instruction) {
  thread.load(instruction);
  return Next::go_on;
}
Next store(Thread& thread, const Instruction& instruction) {
  thread.store(instruction);
  return Next::go_on;
}

template <class T>
T second(T, T b) {
  return b;
}

template <class T, auto function>
Next atomic(Thread& thread, const Instruction& instruction) {
  const Operand* operand = instruction.operands.data();
  T* const memory = static_cast<T*>(thread.atomic(instruction, sizeof(T)));
  const T before = *memory;
  *memory = function(before, thread.get<T>(operand[2]));
  thread.set(operand[0], before);
  return Next::let_others;
}

Next fence(Thread& thread, const Instruction&) {
  thread.fence();
  return Next::let_others;
}
Next branch(Thread& thread, const Instruction& instruction) {
  thread.jump(instruction.target);
  return Next::go_on;
}
Next finish(Thread&, const Instruction&) { return Next::end; }
Next await_block(Thread&, const Instruction&) { return Next::await_block; }
Next await_warp(Thread&, const Instruction&) { return Next::await_warp; }
Next vote_or(Thread& thread, const Instruction& instruction) {
  thread.vote(thread.get<u8>(instruction.operands[2]) != 0, instruction.operands[0]);
  return Next::await_block;
}

template <class T>
void add_comparisons(std::unordered_map<std::string, Execute>& known, const std::string& type) {
  known["setp.eq." + type] = two<T, equal<T>>;
  known["setp.ne." + type] = two<T, unequal<T>>;
  known["setp.lt." + type] = two<T, less<T>>;
  known["setp.le." + type] = two<T, less_or_equal<T>>;
  known["setp.gt." + type] = two<T, greater<T>>;
  known["setp.ge." + type] = two<T, greater_or_equal<T>>;
}

/// For numbers of so many bits, whatever they mean.
template <class T>
void add_bits(std::unordered_map<std::string, Execute>& known, const std::string& bits) {
  known["and.b" + bits] = two<T, both<T>>;
  known["or.b" + bits] = two<T, either<T>>;
  known["xor.b" + bits] = two<T, exclusive<T>>;
  known["not.b" + bits] = one<T, inverse<T>>;
  known["shl.b" + bits] = shift<T, true>;
  known["shr.u" + bits] = shift<T, false>;
  for (const std::string type : {"u", "s"}) {
    known["add." + type + bits] = two<T, add<T>>;
    known["sub." + type + bits] = two<T, sub<T>>;
    known["mul.lo." + type + bits] = two<T, mul<T>>;
    known["mad.lo." + type + bits] = multiply_add<T>;
  }
  for (const std::string type : {"b", "u", "s"}) {
    known["selp." + type + bits] = select<T>;
    known["mov." + type + bits] = one<T, same<T>>;
  }
  known["neg.s" + bits] = one<T, negative<T>>;
  known["setp.eq.b" + bits] = two<T, equal<T>>;
  known["setp.ne.b" + bits] = two<T, unequal<T>>;
  known["div.u" + bits] = two<T, divide<T>>;
  known["rem.u" + bits] = two<T, remainder<T>>;
  known["min.u" + bits] = two<T, smaller<T>>;
  known["max.u" + bits] = two<T, larger<T>>;
  add_comparisons<T>(known, "u" + bits);
}

template <class T>
void add_floats(std::unordered_map<std::string, Execute>& known, const std::string& type) {
  known["add.rn." + type] = two<T, add<T>>;
  known["sub.rn." + type] = two<T, sub<T>>;
  known["mul.rn." + type] = two<T, mul<T>>;
  known["neg." + type] = one<T, negative<T>>;
  known["mov." + type] = one<T, same<T>>;
  known["selp." + type] = select<T>;
  known["setp.ltu." + type] = two<T, less_or_unordered<T>>;
  known["setp.geu." + type] = two<T, greater_or_equal_or_unordered<T>>;
  add_comparisons<T>(known, type);
}

std::unordered_map<std::string, Execute> all_instructions() {
  std::unordered_map<std::string, Execute> known{
      {"mul.wide.u16", two<u16, mul_wide<u32, u16>>},
      {"mul.wide.u32", two<u32, mul_wide<u64, u32>>},
      {"mul.hi.u16", two<u16, mul_high<u32, u16>>},
      {"mul.hi.u32", two<u32, mul_high<u64, u32>>},
      {"mul.hi.u64", two<u64, mul_high<Wide, u64>>},
      {"shf.l.wrap.b32", funnel_shift_left},
      {"bfi.b32", insert_bits<u32>},
      {"bfi.b64", insert_bits<u64>},
      {"bfe.s64", extract_signed},
      {"clz.b32", one<u32, leading_zeros<u32>>},
      {"clz.b64", one<u64, leading_zeros<u64>>},
      {"popc.b32", one<u32, ones>},
      {"prmt.b32", permute_bytes},
      {"max.f64", two<f64, larger_number>},
      {"and.pred", two<u8, both<u8>>},
      {"or.pred", two<u8, either<u8>>},
      {"not.pred", one<u8, negation>},
      {"mov.pred", one<u64, truth>},
      {"cvt.u16.u32", one<u32, converted<u16, u32>>},
      {"cvt.u16.u64", one<u64, converted<u16, u64>>},
      {"cvt.u32.u16", one<u16, converted<u32, u16>>},
      {"cvt.u32.u64", one<u64, converted<u32, u64>>},
      {"cvt.u64.u16", one<u16, converted<u64, u16>>},
      {"cvt.u64.u32", one<u32, converted<u64, u32>>},
      {"cvt.s16.s8", one<s8, converted<s16, s8>>},
      {"cvt.s8.s64", one<s8, converted<s16, s8>>},
      {"cvt.f64.f32", one<f32, converted<f64, f32>>},
      {"cvt.rn.f64.u64", one<u64, converted<f64, u64>>},
      {"cvt.rn.f32.u16", one<u16, converted<f32, u16>>},
      {"cvta.to.u64", one<u64, same<u64>>},
      {"cvta.u64", one<u64, same<u64>>},
      {"ld", load},
      {"st", store},
      {"atom.add.u32", atomic<u32, add<u32>>},
      {"atom.add.u64", atomic<u64, add<u64>>},
      {"atom.max.u64", atomic<u64, larger<u64>>},
      {"atom.exch.b64", atomic<u64, second<u64>>},
      {"membar.gl", fence},
      {"membar.sys", fence},
      {"bar.sync", await_block},
      {"bar.red.or.pred", vote_or},
      {"bar.warp.sync", await_warp},
      {"bra", branch},
      {"bra.uni", branch},
      {"ret", finish},
  };
  add_bits<u16>(known, "16");
  add_bits<u32>(known, "32");
  add_bits<u64>(known, "64");
  add_comparisons<s16>(known, "s16");
  add_comparisons<s32>(known, "s32");
  add_comparisons<s64>(known, "s64");
  add_floats<f32>(known, "f32");
  add_floats<f64>(known, "f64");
  known["shr.s64"] = shift<s64, false>;
  known["mov.b64"] = move_64_bits;
  return known;
}

}  // namespace

Execute find_instruction(const std::string& name) {
  static const std::unordered_map<std::string, Execute> known = all_instructions();
  const auto found = known.find(name);
  return found == known.end() ? nullptr : found->second;
}

}  // namespace ulpscope::test::ptx

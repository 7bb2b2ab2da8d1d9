#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

/// Vectors as wide as the instruction set that a file is compiled for, in the compilers' vector
/// extension, and the conversions that they turn into poor code. In an unnamed namespace, like all
/// that is compiled once per instruction set.
namespace ulpscope::core {
namespace {

#if defined(__AVX512F__)
constexpr std::size_t kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr std::size_t kVectorBytes = 32;
#else
constexpr std::size_t kVectorBytes = 16;
#endif

template <class T, std::size_t kBytes = kVectorBytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(kBytes)));
};
using Words = VectorOf<std::uint32_t>::type;
using LongWords = VectorOf<std::uint64_t>::type;
using Floats = VectorOf<float>::type;
using Doubles = VectorOf<double>::type;

using Bytes = VectorOf<std::uint8_t>::type;

template <class Vector>
Vector load_vector(const void* from) {
  Vector vector;
  std::memcpy(&vector, from, sizeof(vector));
  return vector;
}

template <class To, class From>
To bits_as(From vector) {
  static_assert(sizeof(To) == sizeof(From));
  return reinterpret_cast<To>(vector);
}

template <class Vector>
Vector larger_of(Vector a, Vector b) {
  return a > b ? a : b;
}

/// Of numbers that are not NaN.
[[maybe_unused]] Floats larger_of(Floats a, Floats b) {
#if defined(__AVX512F__)
  return bits_as<Floats>(_mm512_max_ps(bits_as<__m512>(a), bits_as<__m512>(b)));
#elif defined(__AVX2__)
  return bits_as<Floats>(_mm256_max_ps(bits_as<__m256>(a), bits_as<__m256>(b)));
#else
  return a > b ? a : b;
#endif
}
[[maybe_unused]] Doubles larger_of(Doubles a, Doubles b) {
#if defined(__AVX512F__)
  return bits_as<Doubles>(_mm512_max_pd(bits_as<__m512d>(a), bits_as<__m512d>(b)));
#elif defined(__AVX2__)
  return bits_as<Doubles>(_mm256_max_pd(bits_as<__m256d>(a), bits_as<__m256d>(b)));
#else
  return a > b ? a : b;
#endif
}

[[maybe_unused]] Floats size_of(Floats values) {
  return bits_as<Floats>(bits_as<Words>(values) & (~std::uint32_t{0} >> 1));
}
[[maybe_unused]] Doubles size_of(Doubles values) {
  return bits_as<Doubles>(bits_as<LongWords>(values) & (~std::uint64_t{0} >> 1));
}

template <class Vector>
Vector smaller_of(Vector a, Vector b) {
  return a < b ? a : b;
}

/// Two bytes to a word.
[[maybe_unused]] Words widened(const std::uint16_t* from) {
#if defined(__AVX512F__)
  return bits_as<Words>(
      _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))));
#elif defined(__AVX2__)
  return bits_as<Words>(
      _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
#else
  using Halves = VectorOf<std::uint16_t, kVectorBytes / 2>::type;
  return __builtin_convertvector(load_vector<Halves>(from), Words);
#endif
}

/// bfloat16 to float.
[[maybe_unused]] Floats floats_of_bfloat16(const std::uint16_t* from) {
  return bits_as<Floats>(widened(from) << 16U);
}

/// float16 to float, of finite numbers.
[[maybe_unused]] Floats floats_of_float16(const std::uint16_t* from) {
#if defined(__AVX512F__)
  return bits_as<Floats>(
      _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))));
#elif defined(__F16C__)
  return bits_as<Floats>(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
#else
  const Words bits = widened(from);
  const Words size = bits & 0x7fffU;
  const Words normal = (size << 13U) + (112U << 23U);
  // A subnormal's digits, after those of the smallest normal number, which is then subtracted.
  const auto subnormal = bits_as<Floats>((size << 13U) + (113U << 23U)) - 0x1p-14F;
  const Words value = size < 0x400U ? bits_as<Words>(subnormal) : normal;
  return bits_as<Floats>(value | (bits & 0x8000U) << 16U);
#endif
}

struct DoublePair {
  Doubles first;
  Doubles second;
};

[[maybe_unused]] DoublePair widened(Floats floats) {
#if defined(__AVX512F__)
  const auto all = bits_as<__m512>(floats);
  return {bits_as<Doubles>(_mm512_cvtps_pd(_mm512_castps512_ps256(all))),
          bits_as<Doubles>(_mm512_cvtps_pd(_mm512_extractf32x8_ps(all, 1)))};
#elif defined(__AVX2__)
  const auto all = bits_as<__m256>(floats);
  return {bits_as<Doubles>(_mm256_cvtps_pd(_mm256_castps256_ps128(all))),
          bits_as<Doubles>(_mm256_cvtps_pd(_mm256_extractf128_ps(all, 1)))};
#else
  using Halves = VectorOf<float, kVectorBytes / 2>::type;
  Halves halves[2];
  std::memcpy(halves, &floats, sizeof(floats));
  return {__builtin_convertvector(halves[0], Doubles), __builtin_convertvector(halves[1], Doubles)};
#endif
}

/// Every eight bytes added up.
[[maybe_unused]] LongWords sums_of_eight(Bytes bytes) {
#if defined(__AVX512F__)
  return bits_as<LongWords>(_mm512_sad_epu8(bits_as<__m512i>(bytes), _mm512_setzero_si512()));
#elif defined(__AVX2__)
  return bits_as<LongWords>(_mm256_sad_epu8(bits_as<__m256i>(bytes), _mm256_setzero_si256()));
#else
  LongWords sums{};
  for (std::size_t i = 0; i < sizeof(bytes); ++i) sums[i / 8] += bytes[i];
  return sums;
#endif
}

}  // namespace
}  // namespace ulpscope::core

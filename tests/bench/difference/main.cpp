// Throughput of difference(): one pinned core, inputs and levels interleaved, medians.
//   bench_difference [CORE [ROUNDS [MIB [DTYPE]]]]
//   bench_difference --files A B    the seconds that two files of float32 take, once they are in
//   memory
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string_view>
#include <vector>

#include "ceiling.hpp"
#include "core/difference_kernel.hpp"
#include "ulpscope/ulp.hpp"

namespace {

using ulpscope::Dtype;
using ulpscope::core::CpuLevel;
using Bytes = std::vector<std::byte>;

double median(std::vector<double> times) {
  std::ranges::sort(times);
  return times[times.size() / 2];
}

/// Processor time of this thread: other programs on the machine do not count.
double seconds_now() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double seconds_of(auto&& work) {
  const double begin = seconds_now();
  work();
  return seconds_now() - begin;
}

/// The one dtype to measure; empty for all.
const char* only = "";

/// How the candidate comes from the reference.
enum class Kind { same, sparse, dense, unrelated };
constexpr const char* kKindNames[] = {"same", "sparse", "dense", "unrelated"};

template <class Bits, class Draw>
Bytes make(std::size_t size, Draw&& draw) {
  Bytes bytes(size);
  for (std::size_t i = 0; i + sizeof(Bits) <= size; i += sizeof(Bits)) {
    const Bits bits = draw();
    std::memcpy(&bytes[i], &bits, sizeof(bits));
  }
  return bytes;
}

template <class Bits>
Bytes nudge(Bytes bytes, Kind kind) {
  std::mt19937_64 random(3);
  for (std::size_t i = 0; i + sizeof(Bits) <= bytes.size(); i += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, &bytes[i], sizeof(bits));
    if (kind == Kind::sparse && random() % 10000 == 0)
      bits = static_cast<Bits>(bits + 1 + random() % 8);
    if (kind == Kind::dense) bits = static_cast<Bits>(bits + random() % 4);
    std::memcpy(&bytes[i], &bits, sizeof(bits));
  }
  return bytes;
}

template <class Bits, class Draw>
void measure(const char* name, Dtype dtype, std::size_t size, int rounds, Draw&& draw) {
  if (std::string_view(only) != "" && std::string_view(only) != name) return;
  const Bytes reference = make<Bits>(size, draw);
  const Bytes candidates[] = {reference, nudge<Bits>(reference, Kind::sparse),
                              nudge<Bits>(reference, Kind::dense), make<Bits>(size, draw)};
  const std::int64_t shape[] = {static_cast<std::int64_t>(size / sizeof(Bits))};
  volatile std::uint64_t sink = 0;
  std::vector<double> ceiling[3];
  std::vector<double> times[4][3];
  for (int round = 0; round < rounds; ++round)
    for (std::size_t kind = 0; kind < 4; ++kind) {
      const std::byte* a = reference.data();
      const std::byte* b = candidates[kind].data();
      using namespace ulpscope::bench;
      ceiling[0].push_back(seconds_of([&] { sink = sink + ceiling_sse2(a, b, size); }));
      if (supported(CpuLevel::avx2))
        ceiling[1].push_back(seconds_of([&] { sink = sink + ceiling_avx2(a, b, size); }));
      if (supported(CpuLevel::avx512))
        ceiling[2].push_back(seconds_of([&] { sink = sink + ceiling_avx512(a, b, size); }));
      for (const CpuLevel level : ulpscope::core::kCpuLevels)
        if (supported(level))
          times[kind][static_cast<std::size_t>(level)].push_back(seconds_of([&] {
            sink = sink +
                   difference_at(level, dtype, shape, {}, reference, candidates[kind]).differing;
          }));
    }
  double least = 1e9;
  for (const auto& level : ceiling)
    if (!level.empty()) least = std::min(least, median(level));
  const double bytes = 2.0 * static_cast<double>(size);
  std::printf("%-10s read ceiling %.1f GB/s (both values)\n", name, bytes / least / 1e9);
  for (std::size_t kind = 0; kind < 4; ++kind) {
    std::printf("  %-10s", kKindNames[kind]);
    for (const CpuLevel level : ulpscope::core::kCpuLevels)
      if (supported(level)) {
        constexpr const char* kLevels[] = {"SSE2", "AVX2", "AVX-512"};
        const auto at = static_cast<std::size_t>(level);
        const double time = median(times[kind][at]);
        std::printf("   %s %5.1f GB/s %.2f", kLevels[at], bytes / time / 1e9, least / time);
      }
    std::printf("\n");
  }
}

Bytes bytes_of_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> text{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

int measure_files(const char* first, const char* second) {
  const Bytes reference = bytes_of_file(first);
  const Bytes candidate = bytes_of_file(second);
  const std::int64_t shape[] = {static_cast<std::int64_t>(reference.size() / sizeof(float))};
  std::uint64_t differing = 0;
  const double seconds = seconds_of([&] {
    differing = ulpscope::difference(Dtype::float32, shape, {}, reference, candidate).differing;
  });
  std::printf("%.6f s, %llu differ\n", seconds, static_cast<unsigned long long>(differing));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "--files") return measure_files(argv[2], argv[3]);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(static_cast<std::size_t>(argc > 1 ? std::atoi(argv[1]) : 0), &cores);
  sched_setaffinity(0, sizeof(cores), &cores);
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 7;
  const std::size_t size = static_cast<std::size_t>(argc > 3 ? std::atoi(argv[3]) : 64) << 20;
  if (argc > 4) only = argv[4];
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  measure<std::uint32_t>("float32", Dtype::float32, size, rounds,
                         [&] { return std::bit_cast<std::uint32_t>(normal(random)); });
  measure<std::uint64_t>("float64", Dtype::float64, size, rounds, [&] {
    return std::bit_cast<std::uint64_t>(static_cast<double>(normal(random)));
  });
  measure<std::uint16_t>("bfloat16", Dtype::bfloat16, size, rounds, [&] {
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(normal(random)) >> 16);
  });
  measure<std::uint16_t>("float16", Dtype::float16, size, rounds,
                         [&] { return static_cast<std::uint16_t>(0x3000 + random() % 0x1000); });
  measure<std::uint8_t>("float8", Dtype::float8_e4m3fn, size, rounds,
                        [&] { return static_cast<std::uint8_t>(random() % 0x78); });
  measure<std::uint64_t>("complex64", Dtype::complex64, size, rounds, [&] {
    const std::uint64_t real = std::bit_cast<std::uint32_t>(normal(random));
    return real << 32 | std::bit_cast<std::uint32_t>(normal(random));
  });
  measure<std::uint64_t>("int64", Dtype::int64, size, rounds, [&] { return random() % 50000; });
  measure<std::uint8_t>("uint8", Dtype::uint8, size, rounds,
                        [&] { return static_cast<std::uint8_t>(random()); });
}

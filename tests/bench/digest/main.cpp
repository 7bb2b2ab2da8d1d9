// Quality and speed of the digest candidates: one pinned core, candidates interleaved, medians.
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string_view>
#include <vector>

#include "candidates.hpp"
#include "core/cpu_level.hpp"
#include "core/digest_kernel.hpp"

namespace {

using ulpscope::Digest;
using ulpscope::bench::Candidate;
using ulpscope::core::CpuLevel;
using Bytes = std::vector<std::byte>;

void pin_to_core(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(static_cast<std::size_t>(core), &cores);
  sched_setaffinity(0, sizeof(cores), &cores);
}

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

/// Candidates compiled one way; "far" prefetches 8 KiB ahead.
struct Build {
  const char* name;
  std::span<const Candidate> candidates;
};

std::vector<Build> builds() {
  using namespace ulpscope::bench;
  std::vector<Build> all{{"SSE2", candidates_sse2()}, {"SSE2 far", candidates_sse2_far()}};
  if (supported(CpuLevel::avx2)) {
    all.push_back({"AVX2", candidates_avx2()});
    all.push_back({"AVX2 far", candidates_avx2_far()});
  }
  if (supported(CpuLevel::avx512)) {
    all.push_back({"AVX-512", candidates_avx512()});
    all.push_back({"AVX-512 far", candidates_avx512_far()});
  }
  return all;
}

template <CpuLevel Level>
Digest product(const std::byte* bytes, std::size_t size) {
  return ulpscope::core::digest_kernel(Level).whole(bytes, size);
}

/// The product's own function, once per build as the candidates are.
constexpr Candidate kProduct[] = {{"product", &product<CpuLevel::baseline>, 4096},
                                  {"product", &product<CpuLevel::avx2>, 4096},
                                  {"product", &product<CpuLevel::avx512>, 4096}};

/// Values of one size, taken in turn from a region of memory.
struct Workload {
  const char* name;
  std::size_t value_bytes;
  std::size_t region_bytes;
};

constexpr Workload kWorkloads[] = {
    {"1 KB, L1", 1 << 10, 1 << 14},        {"64 KB, L2", 1 << 16, 1 << 18},
    {"64 KB, memory", 1 << 16, 256 << 20}, {"4 MB, L3", 4 << 20, 4 << 20},
    {"4 MB, memory", 4 << 20, 256 << 20},  {"256 MB", 256 << 20, 256 << 20},
};

void measure_speed(const Bytes& memory, int rounds) {
  const auto all = builds();
  const std::size_t rows = all.front().candidates.size() + 1;
  volatile std::uint64_t sink = 0;
  for (const Workload& workload : kWorkloads) {
    const std::size_t batch = std::max<std::size_t>(workload.region_bytes, 16 << 20);
    std::vector<std::vector<double>> times(rows * all.size());
    for (int round = 0; round < rounds; ++round)
      for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t build = 0; build < all.size(); ++build) {
          const Candidate& candidate =
              row + 1 < rows ? all[build].candidates[row] : kProduct[build / 2];
          times[row * all.size() + build].push_back(seconds_of([&] {
            for (std::size_t done = 0; done < batch; done += workload.value_bytes)
              sink =
                  sink +
                  candidate.digest(&memory[done % workload.region_bytes], workload.value_bytes).low;
          }));
        }
    const auto rate = [&](std::size_t row, std::size_t build) {
      return static_cast<double>(batch) / median(times[row * all.size() + build]) / 1e9;
    };
    double ceiling = 0;
    for (std::size_t build = 0; build < all.size(); ++build)
      ceiling = std::max(ceiling, rate(0, build));
    std::printf("\n%s: GB/s (read ceiling %.1f)\n%-26s", workload.name, ceiling, "");
    for (const Build& build : all) std::printf("%12s", build.name);
    for (std::size_t row = 0; row < rows; ++row) {
      std::printf("\n%-26s", row + 1 < rows ? all[0].candidates[row].name : "product");
      for (std::size_t build = 0; build < all.size(); ++build)
        std::printf("%12.1f", rate(row, build));
    }
    std::printf("\n");
  }
}

void measure_small(const Bytes& memory, int rounds) {
  volatile std::uint64_t sink = 0;
  constexpr std::size_t kCalls = 100000;
  constexpr std::size_t kSizes[] = {4, 16, 64, 128, 240, 256, 512, 1024, 4096};
  std::printf("\nsmall values in L1, ns per call\n%-38s", "");
  for (const std::size_t size : kSizes) std::printf("%6zu", size);
  const auto print = [&](const char* build, const Candidate& candidate) {
    std::printf("\n%-12s%-26s", build, candidate.name);
    for (const std::size_t size : kSizes) {
      std::vector<double> times;
      for (int round = 0; round < rounds; ++round)
        times.push_back(seconds_of([&] {
          for (std::size_t call = 0; call < kCalls; ++call)
            sink = sink + candidate.digest(&memory[call % 64 * 16], size).low;
        }));
      std::printf("%6.0f", median(times) * 1e9 / kCalls);
    }
  };
  for (const Build& build : builds())
    for (const Candidate& candidate : build.candidates)
      if (std::string_view(build.name).find("far") == std::string_view::npos &&
          candidate.leaf_bytes <= 8)
        print(build.name, candidate);
  for (const CpuLevel level : ulpscope::core::kCpuLevels)
    if (supported(level)) print("", kProduct[static_cast<std::size_t>(level)]);
  std::printf("\n");
}

/// Accumulators of XXH3 (8 per leaf) that work side by side, and the longest chain of 64-byte
/// steps that must follow each other, with a flat root and with a tree.
void print_parallelism() {
  std::printf("\naccumulators / longest chain, tree / longest chain, flat root\n%-12s", "leaf");
  constexpr std::size_t kSizes[] = {64 << 10, 4 << 20, 100 << 20, 256 << 20};
  for (const std::size_t size : kSizes) std::printf("%24zu KiB", size >> 10);
  for (const std::size_t leaf : {0, 16384, 8192, 4096, 2048, 1024}) {
    std::printf("\n%-12zu", leaf);
    for (const std::size_t size : kSizes) {
      const std::size_t piece = leaf == 0 ? size : leaf;
      const std::size_t leaves = (size + piece - 1) / piece;
      const std::size_t flat = piece / 64 + (leaves > 1 ? leaves / 4 : 0);
      std::size_t tree = piece / 64;
      for (std::size_t nodes = leaves; nodes > 1; nodes = (nodes * 16 + piece - 1) / piece)
        tree += std::min(nodes * 16, piece) / 64;
      std::printf("%14zu %6zu %6zu", leaves * 8, tree, flat);
    }
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  pin_to_core(argc > 1 ? std::atoi(argv[1]) : 0);
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 9;
  Bytes memory(256 << 20);
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < memory.size(); i += 8) {
    const std::uint64_t word = random();
    std::memcpy(&memory[i], &word, sizeof(word));
  }
  print_parallelism();
  ulpscope::bench::measure_quality(builds().back().candidates, 2000);
  measure_small(memory, rounds);
  measure_speed(memory, rounds);
}

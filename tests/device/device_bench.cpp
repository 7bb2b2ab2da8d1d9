/// Rates of every kernel, as shares of what a copy on the device moves in the same run.
///
/// Each figure is the median over replays of a graph whose launches go through many buffers in
/// turn, so that neither launching nor the cache is measured.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <random>
#include <string>

#include "tests/device/gpu.hpp"

namespace {

using namespace ulpscope::test;
using ulpscope::Dtype;
using ulpscope::core::Order;
using ulpscope::device::Value;
using Dims = std::vector<std::int64_t>;

constexpr std::size_t kKi = 1024;
constexpr std::size_t kMi = kKi * kKi;
constexpr std::size_t kPool = std::size_t{4} << 30;
constexpr int kRepeats = 15;

double median(std::vector<double> numbers) {
  std::ranges::sort(numbers);
  return numbers[numbers.size() / 2];
}

class Bench {
 public:
  Bench() : pool_(kPool) {
    check("cudaStreamCreate", cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    check("cudaEventCreate", cudaEventCreate(&begin_));
    check("cudaEventCreate", cudaEventCreate(&end_));
    fill_pool();
  }

  [[nodiscard]] std::byte* pool() const { return pool_.data(); }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }

  /// Microseconds that one of the launches takes.
  double time(std::size_t launches, const std::function<void(std::size_t)>& enqueue) const {
    const Graph graph(stream_, [&] {
      for (std::size_t i = 0; i < launches; ++i) enqueue(i);
    });
    std::vector<double> times;
    for (int repeat = -2; repeat < kRepeats; ++repeat) {
      check("cudaEventRecord", cudaEventRecord(begin_, stream_));
      graph.launch(stream_);
      check("cudaEventRecord", cudaEventRecord(end_, stream_));
      check("cudaEventSynchronize", cudaEventSynchronize(end_));
      float milliseconds = 0;
      check("cudaEventElapsedTime", cudaEventElapsedTime(&milliseconds, begin_, end_));
      if (repeat >= 0) times.push_back(milliseconds * 1000.0 / static_cast<double>(launches));
    }
    return median(times);
  }

  void measure_copy() {
    const std::size_t bytes = 256 * kMi;
    const double microseconds = time(4, [&](std::size_t i) {
      check("cudaMemcpyAsync", cudaMemcpyAsync(pool() + (2 * i + 1) * bytes, pool() + 2 * i * bytes,
                                               bytes, cudaMemcpyDeviceToDevice, stream_));
    });
    copy_rate_ = 2.0 * static_cast<double>(bytes) / microseconds;
    std::printf("%-58s %12s %10s %9s %6s\n", "what", "bytes read", "us", "GB/s", "share");
    print("copy of 256 MiB on the device (read and written)", 2 * bytes, microseconds);
    fill_pool();
  }
  void print(const std::string& what, std::size_t bytes, double microseconds) const {
    const double rate = static_cast<double>(bytes) / microseconds;
    std::printf("%-58s %12zu %10.2f %9.1f %6.2f\n", what.c_str(), bytes, microseconds, rate / 1000,
                rate / copy_rate_);
    std::fflush(stdout);
  }

 private:
  /// Random numbers near 1 in float32, and something or other in every other dtype.
  void fill_pool() {
    const std::size_t block = 64 * kMi;
    std::mt19937 random(1);
    std::vector<std::uint32_t> words(block / sizeof(std::uint32_t));
    for (std::uint32_t& word : words) word = 0x3f000000U | (random() & 0x80ffffffU);
    check("cudaMemcpy", cudaMemcpy(pool(), words.data(), block, cudaMemcpyHostToDevice));
    for (std::size_t done = block; done < kPool; done *= 2)
      check("cudaMemcpy", cudaMemcpy(pool() + done, pool(), std::min(done, kPool - done),
                                     cudaMemcpyDeviceToDevice));
  }

  Buffer<std::byte> pool_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  double copy_rate_ = 1;
};

/// A shape that values of a benchmark share.
struct Shape {
  std::size_t element_size;
  Dims sizes;
  Dims strides;
  Dtype dtype = Dtype::float32;
  Order order = Order::memory;

  [[nodiscard]] Value at(const std::byte* data) const {
    return {{data, element_size, sizes, strides}, dtype, order};
  }
  [[nodiscard]] std::size_t packed() const { return packed_size(at(nullptr).bytes); }
  /// Bytes from the first to the end of the last element.
  [[nodiscard]] std::size_t extent() const {
    std::size_t last = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      last += static_cast<std::size_t>((sizes[i] - 1) * strides[i]);
    return (last + 1) * element_size;
  }
};

Shape dense(std::size_t bytes, Dtype dtype = Dtype::float32) {
  const std::size_t size = element_size(dtype);
  return {size, {static_cast<std::int64_t>(bytes / size)}, {1}, dtype, Order::memory};
}

/// Batches of `count` values, consecutive in the pool.
void measure_digest(const Bench& bench, const std::string& what, const Shape& shape,
                    std::size_t count = 1, bool statistics = false, std::size_t begin = 0) {
  const std::size_t step = (shape.extent() + begin + 255) / 256 * 256;
  const std::size_t batches = std::clamp<std::size_t>(kPool / (step * count), 1, 64);
  std::vector<std::unique_ptr<PreparedBatch>> prepared;
  for (std::size_t i = 0; i < batches; ++i) {
    std::vector<Value> values;
    for (std::size_t k = 0; k < count; ++k)
      values.push_back(shape.at(bench.pool() + begin + (i * count + k) * step));
    prepared.push_back(
        std::make_unique<PreparedBatch>(std::move(values), statistics, bench.stream()));
  }
  check("cudaStreamSynchronize", cudaStreamSynchronize(bench.stream()));
  const double microseconds =
      bench.time(batches, [&](std::size_t i) { prepared[i]->enqueue(bench.stream()); });
  bench.print(what, shape.packed() * count, microseconds);
}

void measure_digests(const Bench& bench) {
  for (const std::size_t kib : {64, 256, 1024, 4096, 16'384, 65'536, 262'144, 1'048'576})
    measure_digest(bench, "digest, contiguous, " + std::to_string(kib) + " KiB", dense(kib * kKi));
  measure_digest(bench, "digest, 256 MiB from an address of 4 bytes", dense(256 * kMi), 1, false,
                 4);
  measure_digest(bench, "digest, 256 MiB, rows of 4096 float32 with gaps",
                 {4, {16'384, 4096}, {4160, 1}});
  measure_digest(bench, "digest, 256 MiB of float32, every second element",
                 {4, {64 * 1024 * 1024}, {2}});
  measure_digest(bench, "digest, 256 MiB of float32, transposed, logical order",
                 {4, {8192, 8192}, {1, 8192}, Dtype::float32, Order::logical});
  measure_digest(
      bench, "digest, 256 MiB of bfloat16, channels last, logical order",
      {2, {64, 256, 128, 64}, {256 * 128 * 64, 1, 256 * 64, 256}, Dtype::bfloat16, Order::logical});
  measure_digest(bench, "digest, 1,000 x 4 KiB in one launch", dense(4 * kKi), 1000);
  measure_digest(bench, "digest, 10,000 x 1 KiB in one launch", dense(kKi), 10'000);
  measure_digest(bench, "digest, 1,000 x 64 KiB in one launch", dense(64 * kKi), 1000);
  measure_digest(bench, "digest, 16 x 4 KiB in one launch", dense(4 * kKi), 16);
}

void measure_statistics(const Bench& bench) {
  for (const Dtype dtype : {Dtype::float32, Dtype::bfloat16, Dtype::float16, Dtype::float64,
                            Dtype::float8_e4m3fn, Dtype::int64, Dtype::uint8})
    measure_digest(bench, "digest and statistics, 256 MiB of " + std::string(name(dtype)),
                   dense(256 * kMi, dtype), 1, true);
  measure_digest(bench, "digest and statistics, 1,000 x 4 KiB of float32", dense(4 * kKi), 1000,
                 true);
}

void measure_difference(const Bench& bench, const std::string& what, const Shape& shape,
                        const std::function<void(std::vector<std::byte>&)>& alter,
                        bool unrelated = false) {
  const std::size_t bytes = shape.packed();
  constexpr std::size_t kPairs = 4;
  std::vector<std::unique_ptr<PreparedComparison>> prepared;
  for (std::size_t i = 0; i < kPairs; ++i) {
    std::byte* const reference = bench.pool() + 2 * i * bytes;
    std::byte* const candidate = reference + bytes;
    check("cudaMemcpy", cudaMemcpy(candidate, reference + (unrelated ? 4096 : 0), bytes / 2,
                                   cudaMemcpyDeviceToDevice));
    check("cudaMemcpy",
          cudaMemcpy(candidate + bytes / 2, reference + (unrelated ? 8192 : bytes / 2), bytes / 2,
                     cudaMemcpyDeviceToDevice));
    if (alter) {
      std::vector<std::byte> host(bytes);
      check("cudaMemcpy", cudaMemcpy(host.data(), candidate, bytes, cudaMemcpyDeviceToHost));
      alter(host);
      check("cudaMemcpy", cudaMemcpy(candidate, host.data(), bytes, cudaMemcpyHostToDevice));
    }
    prepared.push_back(std::make_unique<PreparedComparison>(shape.at(reference),
                                                            shape.at(candidate), bench.stream()));
  }
  check("cudaStreamSynchronize", cudaStreamSynchronize(bench.stream()));
  const double microseconds =
      bench.time(kPairs, [&](std::size_t i) { prepared[i]->enqueue(bench.stream()); });
  bench.print(what, 2 * bytes, microseconds);
}

void measure_differences(const Bench& bench) {
  for (const Dtype dtype : {Dtype::float32, Dtype::bfloat16}) {
    const std::size_t size = element_size(dtype);
    const std::string of = "difference, 2 x 256 MiB of " + std::string(name(dtype));
    const auto step = [size](std::size_t one_in) {
      return [size, one_in](std::vector<std::byte>& bytes) {
        for (std::size_t at = 0; at < bytes.size(); at += size * one_in) bytes[at] ^= std::byte{1};
      };
    };
    const Shape shape = dense(256 * kMi, dtype);
    measure_difference(bench, of + ", same", shape, nullptr);
    measure_difference(bench, of + ", one in 1,000 differs", shape, step(1000));
    measure_difference(bench, of + ", all differ by a step", shape, step(1));
    measure_difference(bench, of + ", unrelated", shape, nullptr, true);
  }
}

/// Microseconds that the calling thread spends on enqueueing.
void measure_calls(const Bench& bench) {
  for (const std::size_t count : {1, 4, 16, 1000}) {
    const Shape shape = dense(4 * kKi);
    std::vector<Value> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(shape.at(bench.pool() + i * 4 * kKi));
    const PreparedBatch batch(values, false, bench.stream());
    std::vector<double> times;
    for (int repeat = 0; repeat < 200; ++repeat) {
      const auto begin = std::chrono::steady_clock::now();
      batch.enqueue(bench.stream());
      times.push_back(
          std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
              .count());
      check("cudaStreamSynchronize", cudaStreamSynchronize(bench.stream()));
    }
    std::printf("%-58s %12s %10.2f\n",
                ("one call for a batch of " + std::to_string(count) + ", on the host").c_str(), "",
                median(times));
  }
}

}  // namespace

int main() {
  skip_without_gpu();
  cudaDeviceProp properties{};
  check("cudaGetDeviceProperties", cudaGetDeviceProperties(&properties, 0));
  std::printf("%s, %d multiprocessors, %d MiB of L2\n", properties.name,
              properties.multiProcessorCount, properties.l2CacheSize >> 20);
  Bench bench;
  bench.measure_copy();
  measure_digests(bench);
  measure_statistics(bench);
  measure_differences(bench);
  measure_calls(bench);
}

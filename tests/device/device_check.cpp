/// Every kernel against the CPU twin, bit for bit, on random data.
///
///   device_check [ROUNDS|small [SEED]]
///
/// "small" is one round of fewer values, for compute-sanitizer.
#include <cstring>
#include <random>
#include <string>

#include "device/twin.hpp"
#include "tests/device/gpu.hpp"
#include "tests/unit/device/random_layout.hpp"
#include "ulpscope/digest.hpp"

namespace {

using namespace ulpscope::test;
using ulpscope::Dtype;
using ulpscope::core::Order;
using ulpscope::device::DifferenceRecord;
using ulpscope::device::DigestQueue;
using ulpscope::device::QueueResult;
using ulpscope::device::QueueSizes;
using ulpscope::device::StatisticsTotals;
using ulpscope::device::Value;

int checks = 0;
bool small = false;

void expect(bool holds, const std::string& what, std::size_t place) {
  ++checks;
  if (!holds) fail(what.c_str(), ("value " + std::to_string(place)).c_str());
}

/// The same bytes on both machines.
class Arena {
 public:
  explicit Arena(Bytes bytes) : host_(std::move(bytes)), device_(host_.size()) {
    check("cudaMemcpy",
          cudaMemcpy(device_.data(), host_.data(), host_.size(), cudaMemcpyHostToDevice));
  }
  [[nodiscard]] const std::byte* host() const { return host_.data(); }
  [[nodiscard]] std::size_t size() const { return host_.size(); }
  [[nodiscard]] Value on_device(Value value) const {
    value.bytes.data = device_.data() + (value.bytes.data - host_.data());
    return value;
  }

 private:
  Bytes host_;
  Buffer<std::byte> device_;
};

/// Values of one arena; owns their sizes and strides.
class Values {
 public:
  explicit Values(const Arena& arena) : arena_(arena) {}

  void add(std::size_t begin, std::size_t element_size, Dims sizes, Dims strides, Dtype dtype,
           Order order) {
    shapes_.push_back(
        std::make_unique<std::pair<Dims, Dims>>(std::move(sizes), std::move(strides)));
    const auto& [kept_sizes, kept_strides] = *shapes_.back();
    values_.push_back(
        {{arena_.host() + begin, element_size, kept_sizes, kept_strides}, dtype, order});
  }
  void add_dense(std::size_t begin, std::size_t bytes, Dtype dtype = Dtype::uint8) {
    const std::size_t size = std::max<std::size_t>(element_size(dtype), 1);
    add(begin, size, {static_cast<std::int64_t>(bytes / size)}, {1}, dtype, Order::memory);
  }
  [[nodiscard]] const std::vector<Value>& on_host() const { return values_; }
  [[nodiscard]] std::vector<Value> on_device() const {
    std::vector<Value> values;
    for (const Value& value : values_) values.push_back(arena_.on_device(value));
    return values;
  }

 private:
  const Arena& arena_;
  std::vector<std::unique_ptr<std::pair<Dims, Dims>>> shapes_;
  std::vector<Value> values_;
};

void check_result(const QueueResult& found, const Value& value, std::size_t place) {
  namespace twin = ulpscope::device::twin;
  const auto expected = twin::digests(std::span(&value, 1), found.statistics != nullptr);
  expect(found.ticket == place && found.digest == expected.digests[0], "queue: digest", place);
  if (place % 2 == 0) {
    Value logical = value;
    logical.order = Order::logical;
    expect(found.logical == twin::digests(std::span(&logical, 1), false).digests[0],
           "queue: digest in logical order", place);
  }
  expect((found.statistics != nullptr) == (place % 3 == 0), "queue: statistics there", place);
  if (found.statistics != nullptr)
    expect(std::memcmp(found.statistics, &expected.statistics[0], sizeof(StatisticsTotals)) == 0,
           "queue: statistics", place);
  const std::vector<std::byte> packed = twin::packed(value);
  const std::size_t bytes = packed_size(value.bytes);
  expect((found.content != nullptr) == (place % 4 < 2) || bytes == 0, "queue: content there",
         place);
  if (found.content != nullptr)
    expect(std::memcmp(found.content, packed.data(), bytes) == 0, "queue: content", place);
}

/// Sends digests, statistics and contents of single values through a queue's ring, which wraps
/// around several times, from two streams.
void check_queue(std::mt19937& random, const Arena& arena, cudaStream_t stream) {
  cudaStream_t other = nullptr;
  check("cudaStreamCreate", cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  QueueSizes sizes;
  sizes.values = 16;
  sizes.streams = 2;
  sizes.content = std::size_t{1} << 20;
  DigestQueue queue(*functions().queue_calls, sizes);
  expect(queue.open(), "queue: opened", 0);
  for (std::uint64_t round = 0; round < (small ? 5 : 50); ++round) {
    Values values(arena);
    while (values.on_host().size() < 8) {
      const Strided strided = random_strided(random, values.on_host().size() == 0 ? 40'000 : 700);
      if (strided.memory.size() <= arena.size())
        values.add(strided.begin, strided.element_size, strided.sizes, strided.strides,
                   Dtype::uint8, Order::memory);
    }
    const std::vector<Value> on_device = values.on_device();
    for (std::size_t i = 0; i < on_device.size(); ++i)
      expect(queue.enqueue({i, on_device[i], i % 2 == 0, i % 3 == 0, i % 4 < 2},
                           i % 2 == 0 ? stream : other),
             "queue: asked for", i);
    check("cudaStreamSynchronize", cudaStreamSynchronize(other));
    check("cudaStreamSynchronize", cudaStreamSynchronize(stream));
    std::size_t taken = 0;
    queue.take_ready([&](const QueueResult& found) {
      check_result(found, values.on_host()[taken], taken);
      ++taken;
    });
    expect(taken == on_device.size(), "queue: taken", round);
  }
  check("cudaStreamDestroy", cudaStreamDestroy(other));
}

/// Enqueues a batch three times, then as a graph, into a ring that begins anywhere.
void check_batch(const std::string& what, const Values& values, bool statistics,
                 cudaStream_t stream) {
  const auto expected = ulpscope::device::twin::digests(values.on_host(), statistics);
  const PreparedBatch batch(values.on_device(), statistics, stream);
  const std::size_t count = values.on_host().size();
  const auto compare = [&](std::uint32_t first) {
    check("cudaStreamSynchronize", cudaStreamSynchronize(stream));
    const auto digests = batch.digests();
    const auto totals = batch.totals();
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t place = (first + i) % count;
      expect(digests[place] == expected.digests[i], what + ": digest", i);
      if (statistics)
        expect(std::memcmp(&totals[place], &expected.statistics[i], sizeof(StatisticsTotals)) == 0,
               what + ": statistics", i);
    }
  };
  for (const std::uint32_t first : {std::uint32_t{0}, static_cast<std::uint32_t>(count / 2)}) {
    batch.enqueue(stream, first);
    compare(first);
  }
  const Graph graph(stream, [&] { batch.enqueue(stream, 1); });
  for (int replay = 0; replay < 2; ++replay) {
    graph.launch(stream);
    compare(1);
  }
}

void check_digests(std::mt19937& random, const Arena& arena, cudaStream_t stream) {
  Values lengths(arena);
  for (std::size_t size = 0; size <= 1100; size += small ? 61 : 1)
    lengths.add_dense(random() % 64, size);
  for (const std::size_t whole : {4096, 8192, 65'536, 1 << 20, 2 << 20}) {
    if (small && whole > 65'536) break;
    for (const int beyond : {-65, -1, 0, 1, 16, 64, 241, 1025})
      for (const std::size_t begin : {0, 1, 4})
        lengths.add_dense(begin, whole + static_cast<std::size_t>(beyond));
  }
  check_batch("lengths", lengths, false, stream);

  for (int i = 0; i < (small ? 2 : 8); ++i) {
    Values few(arena);
    for (std::size_t k = 0; k <= random() % 12; ++k)
      few.add_dense(random() % 100 * 16, random() % (i % 2 == 0 ? 300'000 : 5000));
    check_batch("few values, in the kernel's parameters", few, false, stream);
  }
  Values deep(arena);  // nodes above nodes above leaves
  deep.add_dense(0, (1 << 20) + 4097);
  check_batch("a deep tree", deep, false, stream);
  if (small) return;
  Values large(arena);
  large.add_dense(0, arena.size());
  large.add_dense(3, arena.size() - 3);
  check_batch("large values", large, false, stream);
}

void check_layouts(std::mt19937& random, const Arena& arena, cudaStream_t stream) {
  Values values(arena);
  while (values.on_host().size() < (small ? 60 : 400)) {
    const Strided strided =
        random_strided(random, values.on_host().size() % 20 == 0 ? 40'000 : 700);
    if (strided.memory.size() > arena.size()) continue;
    values.add(strided.begin, strided.element_size, strided.sizes, strided.strides, Dtype::uint8,
               random() % 2 == 0 ? Order::memory : Order::logical);
  }
  check_batch("layouts", values, false, stream);
}

void check_packing(std::mt19937& random, const Arena& arena, cudaStream_t stream) {
  for (int i = 0; i < (small ? 20 : 200); ++i) {
    const Strided strided = random_strided(random, i % 20 == 0 ? 40'000 : 700);
    if (strided.memory.size() > arena.size()) continue;
    Values one(arena);
    one.add(strided.begin, strided.element_size, strided.sizes, strided.strides, Dtype::uint8,
            Order::memory);
    const auto expected = ulpscope::device::twin::packed(one.on_host()[0]);
    if (expected.empty()) continue;
    const HostBuffer<std::byte> packed(expected.size());
    std::memset(packed.data(), 0xa5, expected.size());
    expect(functions().queue_calls->copy_to_host(packed.data(), one.on_device()[0], stream),
           "packing: enqueued", static_cast<std::size_t>(i));
    check("cudaStreamSynchronize", cudaStreamSynchronize(stream));
    const std::size_t bytes = packed_size(one.on_host()[0].bytes);
    expect(std::memcmp(packed.data(), expected.data(), bytes) == 0, "packing",
           static_cast<std::size_t>(i));
  }
}

void check_statistics(std::mt19937& random, const Arena& arena, cudaStream_t stream) {
  Values values(arena);
  for (const Dtype dtype : all_dtypes())
    for (const std::size_t bytes : {16, 240, 304, 4096, 5008, 100'000, 1'500'000})
      if (bytes <= (small && dtype != Dtype::float32 ? 10'000 : 2'000'000))
        values.add_dense(random() % 8 * 16, bytes, dtype);
  check_batch("statistics", values, true, stream);
}

void check_difference(Dtype dtype, const Arena& arena, std::size_t second, std::size_t bytes,
                      cudaStream_t stream) {
  const std::size_t size = std::max<std::size_t>(element_size(dtype), 1);
  Values sides(arena);
  sides.add_dense(0, bytes / size * size, dtype);
  sides.add_dense(second, bytes / size * size, dtype);
  const DifferenceRecord expected =
      ulpscope::device::twin::difference(sides.on_host()[0], sides.on_host()[1], 5);
  const std::vector<Value> values = sides.on_device();
  const PreparedComparison comparison(values[0], values[1], stream);
  for (int round = 0; round < 2; ++round) {
    comparison.enqueue(stream);
    check("cudaStreamSynchronize", cudaStreamSynchronize(stream));
    const DifferenceRecord found = comparison.record();
    const std::string what = "difference of " + std::string(name(dtype));
    expect(found.counts == expected.counts, what + ": counts", bytes);
    expect(found.maxima == expected.maxima, what + ": maxima", bytes);
    expect(found.widths == expected.widths, what + ": histogram", bytes);
    expect(std::memcmp(&found.squares, &expected.squares, sizeof(found.squares)) == 0,
           what + ": sum of squares", bytes);
    expect(found.worst.severity == expected.worst.severity &&
               found.worst.packed == expected.worst.packed &&
               found.worst.part == expected.worst.part,
           what + ": worst", bytes);
    expect(std::memcmp(&found.worst_reference, &expected.worst_reference,
                       sizeof(ulpscope::device::Piece)) == 0 &&
               std::memcmp(&found.worst_candidate, &expected.worst_candidate,
                           sizeof(ulpscope::device::Piece)) == 0,
           what + ": worst bytes", bytes);
  }
}

void check_differences(std::mt19937& random, const Arena& arena, std::size_t copy,
                       cudaStream_t stream) {
  for (const Dtype dtype : all_dtypes())
    for (const std::size_t bytes : {16, 1000, 32'768, 200'000, 1'000'000}) {
      if (small && bytes > (dtype == Dtype::float32 ? 200'000 : 40'000)) break;
      check_difference(dtype, arena, 0, bytes, stream);
      check_difference(dtype, arena, copy, bytes, stream);                // some differ
      check_difference(dtype, arena, 16 + random() % 64, bytes, stream);  // unrelated
    }
}

}  // namespace

int main(int count, char** words) {
  skip_without_gpu();
  small = count > 1 && std::strcmp(words[1], "small") == 0;
  const int rounds = small ? 1 : count > 1 ? std::atoi(words[1]) : 3;
  const auto seed = static_cast<std::uint32_t>(count > 2 ? std::strtoul(words[2], nullptr, 10)
                                                         : std::random_device{}());
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  cudaStream_t stream = nullptr;
  check("cudaStreamCreate", cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int round = 0; round < rounds; ++round) {
    // The second half repeats the first with some bytes replaced.
    const std::size_t half = std::size_t{4} << 20;
    Bytes bytes = random_bytes(random, half);
    bytes.insert(bytes.end(), bytes.begin(), bytes.end());
    for (int i = 0; i < 20'000; ++i)
      bytes[half + random() % half] ^= static_cast<std::byte>(random() & 255);
    const Arena arena(std::move(bytes));
    check_digests(random, arena, stream);
    check_layouts(random, arena, stream);
    check_packing(random, arena, stream);
    check_queue(random, arena, stream);
    check_statistics(random, arena, stream);
    check_differences(random, arena, half, stream);
    std::printf("round %d of %d: %d checks passed\n", round + 1, rounds, checks);
    std::fflush(stdout);
  }
  check("cudaStreamDestroy", cudaStreamDestroy(stream));
  std::printf("all %d checks passed\n", checks);
}

#include "device/queue.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "device/twin.hpp"

using namespace ulpscope;
using namespace ulpscope::device;

namespace {

/// A device without a device: work of each stream is kept until the stream is run.
struct Bench {
  std::map<Stream, std::vector<std::function<void()>>> streams;
  std::vector<std::unique_ptr<std::byte[]>> memory;
  bool captured = false;
  bool refuses = false;
  bool lies = false;  ///< calls what it does a failure
  bool has_memory = true;

  void run(Stream stream) {
    for (const auto& work : streams[stream]) work();
    streams[stream].clear();
  }
};
Bench bench;

/// A value that work of a stream comes back to.
class Kept {
 public:
  explicit Kept(const Value& value)
      : value_(value),
        sizes_(value.bytes.sizes.begin(), value.bytes.sizes.end()),
        strides_(value.bytes.strides.begin(), value.bytes.strides.end()) {}
  [[nodiscard]] Value value() const {
    Value value = value_;
    value.bytes.sizes = sizes_;
    value.bytes.strides = strides_;
    return value;
  }

 private:
  Value value_;
  std::vector<std::int64_t> sizes_;
  std::vector<std::int64_t> strides_;
};

std::byte* allocate(std::size_t bytes) {
  if (!bench.has_memory) return nullptr;
  bench.memory.push_back(std::make_unique<std::byte[]>(bytes + 16));
  auto* const begin = bench.memory.back().get();
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  return begin + (16 - address % 16) % 16;
}

const QueueCalls kBenchCalls{
    [](std::size_t bytes) noexcept -> void* { return allocate(bytes); },
    [](std::size_t bytes) noexcept { return allocate(bytes); },
    [](Stream) noexcept { return bench.captured; },
    [](std::byte* to, const Value& value, Stream stream) noexcept {
      bench.streams[stream].push_back([to, kept = Kept(value)] {
        const std::vector<std::byte> bytes = twin::packed(kept.value());
        std::copy(bytes.begin(), bytes.end(), to);
      });
      return true;
    },
    [](std::span<const Value> values, std::span<std::byte> scratch, const Results& results,
       Stream stream) noexcept {
      if (bench.refuses || scratch.empty()) return false;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::uint32_t place =
            (results.first + static_cast<std::uint32_t>(i)) % results.capacity;
        bench.streams[stream].push_back([=, kept = Kept(values[i])] {
          const Value copy = kept.value();
          const auto found = twin::digests(std::span(&copy, 1), results.statistics != nullptr);
          results.digests[place] = found.digests[0];
          if (results.statistics) results.statistics[place] = found.statistics[0];
          results.done[place] = results.mark;
        });
      }
      return !bench.lies;
    }};

int stream_names[40];
Stream stream(int number) { return &stream_names[number]; }

/// A queue with a separate bench.
class Opened {
 public:
  explicit Opened(QueueSizes sizes = {}) {
    bench = Bench{};
    sizes.patience = std::chrono::milliseconds(5);
    queue = std::make_unique<DigestQueue>(kBenchCalls, sizes);
    opened = queue->open();
  }
  std::unique_ptr<DigestQueue> queue;
  bool opened = false;
};

QueueSizes small(std::uint32_t values, std::size_t content = 0) {
  QueueSizes sizes;
  sizes.values = values;
  sizes.content = content;
  return sizes;
}

struct Matrix {
  explicit Matrix(std::int64_t rows, std::int64_t columns, unsigned seed = 1)
      : sizes{rows, columns},
        strides{columns, 1},
        numbers(static_cast<std::size_t>(rows * columns)) {
    std::mt19937 random(seed);
    for (float& number : numbers) number = std::normal_distribution<float>()(random);
  }
  [[nodiscard]] StridedBytes bytes() const {
    return {reinterpret_cast<const std::byte*>(numbers.data()), sizeof(float), sizes, strides};
  }
  [[nodiscard]] QueuedValue value(std::uint64_t ticket) const {
    QueuedValue queued;
    queued.ticket = ticket;
    queued.value = {.bytes = bytes(), .dtype = Dtype::float32};
    return queued;
  }
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  std::vector<float> numbers;
};

struct Taken {
  std::uint64_t ticket = 0;
  Digest digest;
  Digest logical;
  std::vector<std::byte> content;
  bool statistics = false;
};

std::vector<Taken> take(DigestQueue& queue) {
  std::vector<Taken> taken;
  queue.take_ready([&](const QueueResult& result) {
    Taken& one = taken.emplace_back(
        Taken{result.ticket, result.digest, result.logical, {}, result.statistics != nullptr});
    if (result.content) one.content.assign(result.content, result.content + result.bytes);
  });
  return taken;
}

}  // namespace

TEST_SUITE("digest queue") {
  TEST_CASE("a digest is taken when its stream has come to it, and is the core's") {
    Opened on;
    REQUIRE(on.opened);
    const Matrix matrix(40, 50);
    REQUIRE(on.queue->enqueue(matrix.value(7), stream(0)));
    CHECK(take(*on.queue).empty());
    CHECK(on.queue->waiting() == 1);
    bench.run(stream(0));
    const auto taken = take(*on.queue);
    REQUIRE(taken.size() == 1);
    CHECK(taken[0].ticket == 7);
    CHECK(taken[0].digest == digest_in_memory_order(matrix.bytes()));
    CHECK(taken[0].logical == Digest{});
    CHECK_FALSE(taken[0].statistics);
    CHECK(on.queue->waiting() == 0);
  }

  TEST_CASE("the digest in logical order, statistics and the content come with it") {
    Opened on(small(8, 1 << 16));
    Matrix matrix(30, 20);
    std::swap(matrix.sizes[0], matrix.sizes[1]);
    matrix.strides = {1, 20};
    QueuedValue queued = matrix.value(1);
    queued.logical = queued.statistics = queued.content = true;
    REQUIRE(on.queue->enqueue(queued, stream(0)));
    bench.run(stream(0));
    const auto taken = take(*on.queue);
    REQUIRE(taken.size() == 1);
    CHECK(taken[0].digest == digest_in_memory_order(matrix.bytes()));
    CHECK(taken[0].logical == digest_in_logical_order(matrix.bytes()));
    CHECK(taken[0].statistics);
    REQUIRE(taken[0].content.size() == 2400);
    CHECK(std::memcmp(taken[0].content.data(), matrix.numbers.data(), 2400) == 0);
  }

  TEST_CASE("results come in the order in which they were asked for, whatever streams do") {
    Opened on;
    const Matrix matrix(3, 3);
    REQUIRE(on.queue->enqueue(matrix.value(1), stream(0)));
    REQUIRE(on.queue->enqueue(matrix.value(2), stream(1)));
    bench.run(stream(1));
    CHECK(take(*on.queue).empty());
    bench.run(stream(0));
    const auto taken = take(*on.queue);
    REQUIRE(taken.size() == 2);
    CHECK(taken[0].ticket == 1);
    CHECK(taken[1].ticket == 2);
  }

  TEST_CASE("places are used again, and a mark of an earlier round is none of this one") {
    Opened on(small(4));
    for (unsigned round = 0; round < 25; ++round) {
      const Matrix matrix(5, 5, round);
      REQUIRE(on.queue->enqueue(matrix.value(round), stream(0)));
      CHECK(take(*on.queue).empty());
      bench.run(stream(0));
      const auto taken = take(*on.queue);
      REQUIRE(taken.size() == 1);
      CHECK(taken[0].digest == digest_in_memory_order(matrix.bytes()));
    }
  }

  TEST_CASE("without room it gives up after a while, at once as long as nothing moves") {
    Opened on(small(2));
    const Matrix matrix(2, 2);
    CHECK(on.queue->enqueue(matrix.value(1), stream(0)));
    CHECK(on.queue->enqueue(matrix.value(2), stream(0)));
    CHECK_FALSE(on.queue->enqueue(matrix.value(3), stream(0)));
    CHECK_FALSE(on.queue->enqueue(matrix.value(4), stream(0)));
    bench.run(stream(0));
    CHECK(take(*on.queue).size() == 2);
    CHECK(on.queue->enqueue(matrix.value(5), stream(0)));
  }

  TEST_CASE("contents share their memory in turn, and none is overwritten before it is taken") {
    Opened on(small(64, 1000));
    std::uint64_t next = 0;
    std::mt19937 random(3);
    std::map<std::uint64_t, Matrix> sent;
    std::uint64_t seen = 0;
    for (int i = 0; i < 400; ++i) {
      const Matrix matrix(1, 1 + static_cast<std::int64_t>(random() % 120),
                          static_cast<unsigned>(random()));
      QueuedValue queued = matrix.value(next);
      queued.content = true;
      const auto kept = sent.emplace(next, matrix).first;
      queued.value.bytes = kept->second.bytes();
      if (on.queue->enqueue(queued, stream(0)))
        ++next;
      else
        sent.erase(kept);
      if (random() % 3 != 0) continue;
      bench.run(stream(0));
      for (const Taken& taken : take(*on.queue)) {
        const Matrix& original = sent.at(taken.ticket);
        REQUIRE(taken.content.size() == original.numbers.size() * sizeof(float));
        CHECK(std::memcmp(taken.content.data(), original.numbers.data(), taken.content.size()) ==
              0);
        ++seen;
      }
    }
    CHECK(seen > 100);
  }

  TEST_CASE("of a content larger than its memory the digest comes alone") {
    Opened on(small(8, 100));
    const Matrix large(10, 10);
    QueuedValue queued = large.value(1);
    queued.content = true;
    REQUIRE(on.queue->enqueue(queued, stream(0)));
    bench.run(stream(0));
    const auto taken = take(*on.queue);
    REQUIRE(taken.size() == 1);
    CHECK(taken[0].content.empty());
    CHECK(taken[0].digest == digest_in_memory_order(large.bytes()));
  }

  TEST_CASE("a kernel that runs although its launch was called a failure leaves its own place") {
    Opened on;
    const Matrix failed(3, 3, 1);
    const Matrix next(3, 3, 2);
    bench.lies = true;
    CHECK_FALSE(on.queue->enqueue(failed.value(1), stream(0)));
    bench.lies = false;
    REQUIRE(on.queue->enqueue(next.value(2), stream(1)));
    bench.run(stream(0));
    CHECK(take(*on.queue).empty());
    bench.run(stream(1));
    const auto taken = take(*on.queue);
    REQUIRE(taken.size() == 1);
    CHECK(taken[0].digest == digest_in_memory_order(next.bytes()));
  }

  TEST_CASE(
      "a value with more leaves than scratch memory has room for is refused before any work") {
    QueueSizes sizes = small(8, 1 << 20);
    sizes.scratch = 256;
    Opened on(sizes);
    const Matrix large(200, 200);
    QueuedValue queued = large.value(1);
    queued.content = true;
    CHECK_FALSE(on.queue->enqueue(queued, stream(0)));
    CHECK(bench.streams.empty());
  }

  TEST_CASE("a content with gaps comes without them") {
    Opened on(small(8, 100));
    Matrix gaps(4, 4);
    gaps.strides = {4, 2};
    gaps.sizes = {4, 2};
    QueuedValue queued = gaps.value(2);
    queued.content = true;
    REQUIRE(on.queue->enqueue(queued, stream(0)));
    bench.run(stream(0));
    const auto taken = take(*on.queue);
    REQUIRE(taken.size() == 1);
    CHECK(taken[0].digest == digest_in_memory_order(gaps.bytes()));
    REQUIRE(taken[0].content.size() == 8 * sizeof(float));
    CHECK(digest(taken[0].content) == taken[0].digest);
  }

  TEST_CASE("a stream that is captured into a graph gets nothing") {
    Opened on;
    bench.captured = true;
    CHECK_FALSE(on.queue->enqueue(Matrix(2, 2).value(1), stream(0)));
    CHECK(bench.streams.empty());
  }

  TEST_CASE("what the device refuses is not waited for") {
    Opened on;
    const Matrix matrix(2, 2);
    bench.refuses = true;
    CHECK_FALSE(on.queue->enqueue(matrix.value(1), stream(0)));
    bench.refuses = false;
    REQUIRE(on.queue->enqueue(matrix.value(2), stream(0)));
    bench.run(stream(0));
    const auto taken = take(*on.queue);
    REQUIRE(taken.size() == 1);
    CHECK(taken[0].ticket == 2);
  }

  TEST_CASE("more streams than expected are refused, known ones go on") {
    QueueSizes sizes;
    sizes.streams = 2;
    Opened on(sizes);
    const Matrix matrix(2, 2);
    CHECK(on.queue->enqueue(matrix.value(1), stream(0)));
    CHECK(on.queue->enqueue(matrix.value(2), stream(1)));
    CHECK_FALSE(on.queue->enqueue(matrix.value(3), stream(2)));
    CHECK(on.queue->enqueue(matrix.value(4), stream(0)));
  }

  TEST_CASE("many threads ask while one takes") {
    QueueCalls calls = kBenchCalls;
    calls.digest = [](std::span<const Value> values, std::span<std::byte>, const Results& results,
                      Stream) noexcept {
      results.digests[results.first] = digest_in_memory_order(values[0].bytes);
      std::atomic_ref(results.done[results.first]).store(results.mark, std::memory_order_release);
      return true;
    };
    bench = Bench{};
    QueueSizes sizes = small(16);
    sizes.patience = std::chrono::seconds(60);
    DigestQueue queue(calls, sizes);
    REQUIRE(queue.open());
    constexpr std::uint64_t kThreads = 4;
    constexpr std::uint64_t kEach = 300;
    std::vector<Matrix> matrices;
    for (unsigned i = 0; i < kThreads; ++i) matrices.emplace_back(2, 3 + i, i);
    std::vector<std::thread> threads;
    for (std::uint64_t thread = 0; thread < kThreads; ++thread)
      threads.emplace_back([&, thread] {
        for (std::uint64_t i = 0; i < kEach; ++i)
          static_cast<void>(queue.enqueue(matrices[thread].value(thread * kEach + i),
                                          stream(static_cast<int>(thread))));
      });
    std::vector<std::uint64_t> next(kThreads, 0);
    std::uint64_t taken = 0;
    while (taken < kThreads * kEach)
      queue.take_ready([&](const QueueResult& result) {
        const std::uint64_t thread = result.ticket / kEach;
        CHECK(result.ticket % kEach == next[thread]++);
        CHECK(result.digest == digest_in_memory_order(matrices[thread].bytes()));
        ++taken;
      });
    for (std::thread& thread : threads) thread.join();
    CHECK(queue.waiting() == 0);
  }

  TEST_CASE("without memory there is no queue") {
    bench = Bench{};
    bench.has_memory = false;
    DigestQueue queue(kBenchCalls, {});
    CHECK_FALSE(queue.open());
  }
}

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "ring/batch_reader.hpp"
#include "ring/client.hpp"
#include "ring/message.hpp"
#include "ring/shared_memory.hpp"
#include "tests/unit/ring/processes.hpp"

// Prints the numbers that lib/README.md states about the ring. Best of several rounds each.
namespace ulpscope::ring {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::uint64_t kCapacity = kDigestRingBytes;
constexpr int kRounds = 15;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double best_of(int rounds, const std::function<double()>& measure) {
  double best = measure();
  for (int i = 1; i < rounds; ++i) best = std::min(best, measure());
  return best;
}

double cpu_seconds(int who) {
  rusage usage{};
  ::getrusage(who, &usage);
  const auto in_seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return in_seconds(usage.ru_utime) + in_seconds(usage.ru_stime);
}

void write_message(std::byte* room, const std::byte* source, std::uint32_t size) {
  const MessageHeader header{size, MessageKind::content, 0};
  std::memcpy(room, &header, sizeof header);
  std::memcpy(room + sizeof header, source, size - sizeof header);
}

/// Both ends of a ring in one thread, to measure only writing.
struct Ends {
  explicit Ends(std::uint64_t capacity = kCapacity) {
    const Descriptor memory = create_ring(capacity);
    consumer = Consumer(RingMapping::map(memory.get(), capacity));
    guard.token = 2;
    producer =
        Producer(RingMapping::map(memory.get(), capacity), {&guard, &writer.page(), 2, 10'000});
  }
  WriterPageOwner writer;
  SessionGuard guard{};
  Consumer consumer;
  Producer producer;
};

/// A ring that is mapped once: a message that does not fit before the end leaves a marker there and
/// starts at the beginning.
class MarkerProducer {
 public:
  explicit MarkerProducer(const RingMapping& mapping)
      : header_(mapping.header()), data_(mapping.data()), capacity_(mapping.capacity()) {}

  std::byte* reserve(std::uint32_t size) {
    const std::uint64_t at = head_ & (capacity_ - 1);
    const std::uint64_t to_end = capacity_ - at;
    if (to_end < size) {
      if (!room_for(to_end + size)) return nullptr;
      const MessageHeader marker{static_cast<std::uint32_t>(to_end), MessageKind{0}, 0};
      std::memcpy(data_ + at, &marker, sizeof marker);
      head_ += to_end;
      return data_;
    }
    return room_for(size) ? data_ + at : nullptr;
  }
  void commit(std::uint32_t size) {
    head_ += size;
    header_->head.store(head_, std::memory_order_release);
  }

 private:
  bool room_for(std::uint64_t size) {
    if (limit_ - head_ >= size) return true;
    limit_ = header_->tail.load(std::memory_order_acquire) + capacity_;
    return limit_ - head_ >= size;
  }
  RingHeader* header_;
  std::byte* data_;
  std::uint64_t capacity_;
  std::uint64_t head_ = 0;
  std::uint64_t limit_ = 0;
};

/// Nanoseconds that the program spends for one message, the ring being warm and never full.
template <class Write>
double writing_ns(Consumer& consumer, std::uint32_t size, Write write) {
  const std::uint64_t count = kCapacity / 4 / size;
  return best_of(kRounds * 8, [&] {
    const auto start = Clock::now();
    write(count);
    const double seconds = seconds_since(start);
    consumer.release(consumer.available().size());
    return 1e9 * seconds / static_cast<double>(count);
  });
}

void print_writing_cost(const std::vector<std::byte>& source) {
  std::printf("writing one message, ring not full, ns (8 MiB ring)\n");
  std::printf("%10s %12s %12s %12s %12s\n", "bytes", "memcpy only", "mirror", "mirror x16",
              "marker");
  for (const std::uint32_t size : {128U, 512U, 4096U, 65'536U, 1U << 20}) {
    std::vector<std::byte> plain(kCapacity);
    Ends ends;
    const double copy = writing_ns(ends.consumer, size, [&](std::uint64_t count) {
      static std::size_t at = 0;
      for (std::uint64_t i = 0; i < count; ++i) {
        write_message(plain.data() + at, source.data(), size);
        at = (at + size) & (kCapacity - 1);
      }
    });
    const auto one_by_one = [&](std::uint64_t count) {
      for (std::uint64_t i = 0; i < count; ++i) {
        write_message(static_cast<std::byte*>(ends.producer.reserve(size)), source.data(), size);
        ends.producer.commit(size);
      }
    };
    one_by_one(kCapacity / size);  // touches every page
    ends.consumer.release(ends.consumer.available().size());
    const double mirror = writing_ns(ends.consumer, size, one_by_one);
    const double batched = writing_ns(ends.consumer, size, [&](std::uint64_t count) {
      const std::uint32_t together = size <= 4096 ? 16 : 1;
      for (std::uint64_t i = 0; i < count; i += together) {
        auto* const room = static_cast<std::byte*>(ends.producer.reserve(together * size));
        for (std::uint32_t k = 0; k < together; ++k) {
          write_message(room + k * size, source.data(), size);
        }
        ends.producer.commit(together * size);
      }
    });

    const Descriptor memory = create_ring(kCapacity);
    const RingMapping mapping = RingMapping::map(memory.get(), kCapacity);
    Consumer consumer(RingMapping::map(memory.get(), kCapacity));
    MarkerProducer producer(mapping);
    const auto with_marker = [&](std::uint64_t count) {
      for (std::uint64_t i = 0; i < count; ++i) {
        write_message(producer.reserve(size), source.data(), size);
        producer.commit(size);
      }
    };
    with_marker(kCapacity / size);
    consumer.release(consumer.available().size());
    const double marker = writing_ns(consumer, size, with_marker);
    std::printf("%10u %12.1f %12.1f %12.1f %12.1f\n", size, copy, mirror, batched, marker);
  }
}

struct CountingHandler : Handler {
  void on_process(SessionId, const Hello&) override {}
  void on_ring(SessionId, std::uint32_t, bool, std::string_view) override {}
  void on_messages(SessionId, std::uint32_t, std::span<const std::byte> messages) override {
    bytes += messages.size();
  }
  void on_damaged(SessionId, std::uint32_t, std::string_view) override {}
  void on_lane_closed(SessionId, std::uint32_t, ProducerEnd) override {}
  void on_gave_up(SessionId, std::string_view) override {}
  void on_process_gone(SessionId, ProcessEnd, std::optional<int>) override { ++gone; }
  void on_refused(std::uint32_t, std::string_view) override {}
  std::uint64_t bytes = 0;
  int gone = 0;
};

/// One process writes as fast as it can, the server in this one reads it.
void print_throughput(const std::vector<std::byte>& source) {
  std::printf("\nprocess to process, server copies into batches, GB/s (stalls)\n");
  std::printf("%10s %20s %20s\n", "bytes", "8 MiB ring", "64 MiB ring");
  for (const std::uint32_t size : {128U, 512U, 4096U, 65'536U, 262'144U, 1U << 20}) {
    std::printf("%10u", size);
    for (const std::uint64_t capacity : {kDigestRingBytes, kFullRingBytes}) {
      const std::uint64_t total = std::uint64_t{size <= 512 ? 1U : 4U} << 30;
      std::uint64_t stalls = 0;
      const double seconds = best_of(3, [&] {
        ServerOptions options;
        options.settings.ring_bytes = capacity;
        Server server(options);
        CountingHandler handler;
        test::Shared<std::atomic<double>> elapsed;
        test::Child child([&] {
          Client client;
          if (!client.connect(server.socket_path().c_str(), "bench")) return 1;
          Producer producer = client.open_ring(true, "main");
          const auto start = Clock::now();
          for (std::uint64_t sent = 0; sent < total; sent += size) {
            void* const room = producer.reserve(size);
            if (room == nullptr) return 2;
            write_message(static_cast<std::byte*>(room), source.data(), size);
            producer.commit(size);
          }
          *elapsed = seconds_since(start);
          return 0;
        });
        while (handler.gone == 0) server.poll(50ms, handler);
        if (child.wait() != 0) std::printf("failed ");
        stalls = server.stats().front().stalls;
        return elapsed->load();
      });
      std::printf(" %11.2f (%6llu)", 1e-9 * static_cast<double>(total) / seconds,
                  static_cast<unsigned long long>(stalls));
    }
    std::printf("\n");
  }
}

/// The cost of an idle ring for the writer, and how long a single message stays in the ring.
void print_idle_cost() {
  std::printf("\nidle writer with one live ring: CPU share\n");
  Server server({});
  CountingHandler handler;
  test::Shared<std::atomic<bool>> ready;
  test::Shared<std::atomic<bool>> done;
  test::Child child([&] {
    Client client;
    if (!client.connect(server.socket_path().c_str(), "bench")) return 1;
    const Producer producer = client.open_ring(true, "main");
    *ready = true;
    test::wait_until(*done);
    return 0;
  });
  while (!*ready) server.poll(1ms, handler);
  const double before = cpu_seconds(RUSAGE_SELF);
  const auto start = Clock::now();
  while (Clock::now() - start < 3s) server.poll(50ms, handler);
  std::printf("  looking every 1-2 ms  %.2f %%\n",
              100 * (cpu_seconds(RUSAGE_SELF) - before) / seconds_since(start));
  *done = true;
}

void print_latency() {
  std::printf("\nlatency of a single message, microseconds (median, 99 %%), cost to the program\n");
  constexpr int kMessages = 1000;
  for (const bool use_eventfd : {false, true}) {
    Ends ends;
    const Descriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    std::atomic<bool> done = false;
    std::vector<double> latencies;
    std::thread reader([&] {
      while (latencies.size() < kMessages) {
        const auto bytes = ends.consumer.available();
        for (std::size_t at = 0; at < bytes.size(); at += 128) {
          std::int64_t sent = 0;
          std::memcpy(&sent, bytes.data() + at + sizeof(MessageHeader), sizeof sent);
          const std::int64_t now = Clock::now().time_since_epoch().count();
          latencies.push_back(1e-3 * static_cast<double>(now - sent));
        }
        ends.consumer.release(bytes.size());
        if (!bytes.empty()) continue;
        pollfd entry{wake.get(), POLLIN, 0};
        ::poll(&entry, use_eventfd ? 1 : 0, 1);
        std::uint64_t count = 0;
        if (use_eventfd) static_cast<void>(::read(wake.get(), &count, sizeof count) == 0);
      }
    });
    std::vector<double> costs;
    for (int i = 0; i < kMessages; ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(1500 + 37 * (i % 41)));
      const auto start = Clock::now();
      auto* const room = static_cast<std::byte*>(ends.producer.reserve(128));
      const MessageHeader header{128, MessageKind::notice, 0};
      const std::int64_t now = start.time_since_epoch().count();
      std::memcpy(room, &header, sizeof header);
      std::memcpy(room + sizeof header, &now, sizeof now);
      ends.producer.commit(128);
      const std::uint64_t one = 1;
      if (use_eventfd) static_cast<void>(::write(wake.get(), &one, sizeof one) == 0);
      costs.push_back(1e9 * seconds_since(start));
    }
    reader.join();
    std::ranges::sort(latencies);
    std::ranges::sort(costs);
    std::printf("  %-18s %8.1f %8.1f   %8.0f ns\n", use_eventfd ? "eventfd" : "polling every 1 ms",
                latencies[kMessages / 2], latencies[kMessages * 99 / 100], costs[kMessages / 2]);
  }
}

/// What a ring costs when it is made and when it is written for the first time.
void print_first_use(const std::vector<std::byte>& source) {
  std::printf("\nnew rings: milliseconds to make, map, populate; ns per KiB of the first lap\n");
  std::printf("%10s %8s %8s %10s %14s %14s %12s\n", "MiB", "make", "map", "populate", "first lap",
              "populated", "second lap");
  for (const std::uint64_t capacity : {kDigestRingBytes, kFullRingBytes}) {
    double make = 1e9;
    double map = 1e9;
    double populate = 1e9;
    double first[2] = {1e9, 1e9};
    double second = 1e9;
    for (int round = 0; round < 10; ++round) {
      const bool populated = round % 2 == 1;
      const auto started = Clock::now();
      const Descriptor memory = create_ring(capacity);
      make = std::min(make, 1e3 * seconds_since(started));
      const auto made = Clock::now();
      RingMapping mapping = RingMapping::map(memory.get(), capacity);
      map = std::min(map, 1e3 * seconds_since(made));
      const auto mapped = Clock::now();
      if (populated) {
        ::madvise(mapping.data(), capacity, MADV_POPULATE_WRITE);
        populate = std::min(populate, 1e3 * seconds_since(mapped));
      }
      const auto lap = [&] {
        const auto start = Clock::now();
        for (std::uint64_t at = 0; at < capacity; at += 1024) {
          write_message(mapping.data() + at, source.data(), 1024);
        }
        return 1e9 * seconds_since(start) / static_cast<double>(capacity / 1024);
      };
      first[populated] = std::min(first[populated], lap());
      second = std::min(second, lap());
    }
    std::printf("%10llu %8.2f %8.3f %10.2f %14.1f %14.1f %12.1f\n",
                static_cast<unsigned long long>(capacity >> 20), make, map, populate, first[0],
                first[1], second);
  }
}

void print_handshake_cost() {
  Server server({});
  CountingHandler handler;
  test::Shared<std::atomic<double>> hello;
  test::Shared<std::atomic<double>> ring;
  test::Child child([&] {
    Client client;
    const auto start = Clock::now();
    if (!client.connect(server.socket_path().c_str(), "bench")) return 1;
    *hello = 1e3 * seconds_since(start);
    const auto between = Clock::now();
    const Producer producer = client.open_ring(true, "main");
    *ring = 1e3 * seconds_since(between);
    return 0;
  });
  while (handler.gone == 0) server.poll(50ms, handler);
  std::printf("\nhandshake: connect %.2f ms, open an 8 MiB ring %.2f ms\n", hello->load(),
              ring->load());
}

}  // namespace
}  // namespace ulpscope::ring

int main() {
  using namespace ulpscope::ring;
  std::vector<std::byte> source(std::size_t{2} << 20, std::byte{0x5a});
  print_writing_cost(source);
  print_throughput(source);
  print_idle_cost();
  print_latency();
  print_first_use(source);
  print_handshake_cost();
}

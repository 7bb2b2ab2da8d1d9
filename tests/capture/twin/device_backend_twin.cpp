#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <string_view>
#include <vector>

#include "capture/device_backend.hpp"

/// A device backend whose device is the CPU: digests are taken at once, as a stream would have
/// them, and delivered late, in batches; with ULPSCOPE_TWIN_TELLS=at_once before the program
/// continues. Every tensor takes the path of one on a device.
namespace ulpscope::capture {

const c10::DeviceType kHostDevice = c10::DeviceType::Meta;
const c10::DeviceType kBackendDevice = c10::DeviceType::CPU;

namespace {

class Twin final : public DeviceBackend {
 public:
  bool enqueue(const DeviceValue& value) noexcept override {
    if (capture_of(value.device) != 0) return false;
    Done done{value.ticket, value.dtype, digest_in_memory_order(value.bytes), {}, {}, {}};
    if (value.logical) done.logical = digest_in_logical_order(value.bytes);
    if (value.statistics || value.content) {
      done.content.resize(packed_size(value.bytes));
      pack_in_memory_order(value.bytes, done.content);
      if (value.statistics) done.statistics = statistics_of(value.dtype, done.content);
      done.has_content = value.content;
    }
    std::unique_lock lock(mutex_);
    queue_.push_back(std::move(done));
    const std::uint64_t number = ++asked_;
    if (queue_.size() >= batch_) ready_.notify_one();
    if (batch_ == 1) told_at_once_.wait_for(lock, kPatience, [&] { return told_ >= number; });
    return true;
  }

  bool copy(void* to, const void* from, std::size_t bytes,
            c10::DeviceIndex device) noexcept override {
    if (capture_of(device) != 0) return false;
    std::memcpy(to, from, bytes);
    return true;
  }

  std::uint64_t capture_of(c10::DeviceIndex /*device*/) noexcept override {
    static const auto ask =
        reinterpret_cast<std::uint64_t (*)()>(dlsym(RTLD_DEFAULT, "host_capture"));
    return ask == nullptr ? 0 : ask();
  }
  c10::DeviceIndex current_device() noexcept override { return 0; }

  bool drain(std::chrono::milliseconds timeout,
             const std::function<void(const DeviceResult&)>& take) noexcept override {
    std::deque<Done> some;
    {
      std::unique_lock lock(mutex_);
      ready_.wait_for(lock, timeout, [&] { return queue_.size() >= batch_; });
      some.swap(queue_);
    }
    for (const Done& done : some) {
      DeviceResult result;
      result.ticket = done.ticket;
      result.dtype = done.dtype;
      result.digest = done.digest;
      result.logical = done.logical;
      result.statistics = done.statistics;
      if (done.has_content) result.content = done.content;
      take(result);
    }
    {
      const std::lock_guard guard(mutex_);
      told_ += some.size();
    }
    told_at_once_.notify_all();
    return !some.empty();
  }

 private:
  static constexpr std::size_t kBatch = 64;
  static constexpr std::chrono::seconds kPatience{1};  // threads may have ended

  static std::size_t batch() noexcept {
    const char* const tells = std::getenv("ULPSCOPE_TWIN_TELLS");
    return tells != nullptr && std::string_view(tells) == "at_once" ? 1 : kBatch;
  }

  struct Done {
    std::uint64_t ticket = 0;
    Dtype dtype = Dtype::undefined;
    Digest digest;
    Digest logical;
    std::optional<Statistics> statistics;
    std::vector<std::byte> content;
    bool has_content = false;
  };

  std::mutex mutex_;
  const std::size_t batch_ = batch();
  std::condition_variable ready_;
  std::condition_variable told_at_once_;
  std::deque<Done> queue_;
  std::uint64_t asked_ = 0;
  std::uint64_t told_ = 0;
};

}  // namespace

DeviceBackend* device_backend() noexcept {
  static Twin* const twin = new Twin;
  return twin;
}

}  // namespace ulpscope::capture

#include "loopback_group.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <utility>
#include <vector>

namespace gloo::transport {
class Device;
}

namespace c10d {

/// LibTorch's header of this class needs Gloo's own, which the wheel does not have. The constructor
/// and the virtual members are exported; `room_` is at least what the real class takes.
class TORCH_API ProcessGroupGloo : public Backend {
 public:
  struct TORCH_API Options : public Backend::Options {
    explicit Options(std::chrono::milliseconds timeout);
    std::vector<std::shared_ptr<::gloo::transport::Device>> devices;
    int threads{2};
  };
  static std::shared_ptr<::gloo::transport::Device> createDeviceForHostname(
      const std::string& hostname, bool lazyInit);
  explicit ProcessGroupGloo(const c10::intrusive_ptr<Store>& store, int rank, int size,
                            c10::intrusive_ptr<Options> options);
  ~ProcessGroupGloo() override;

 private:
  std::array<std::byte, 4096> room_;
};

}  // namespace c10d

namespace loopback {

Group make_group(const std::string& file, int rank, int size, int threads) {
  Group made;
  auto store = c10::make_intrusive<c10d::FileStore>(file, size);
  auto options = c10::make_intrusive<c10d::ProcessGroupGloo::Options>(std::chrono::seconds(60));
  options->devices = {c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1", false)};
  options->threads = threads;
  made.backend = c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, size, std::move(options));
  made.group = c10::make_intrusive<c10d::ProcessGroup>(store, rank, size);
  made.group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::BackendType::GLOO, made.backend);
  made.group->setDefaultBackend(c10d::ProcessGroup::BackendType::GLOO);
  return made;
}

}  // namespace loopback

#include "peers.hpp"

#include <torch/torch.h>

#include "loopback_group.hpp"

namespace judge {

struct Peers::Group : loopback::Group {};

Peers::Peers(const std::string& file, int rank, int size)
    : group_(std::make_unique<Group>(Group{loopback::make_group(file, rank, size)})), size_(size) {}

Peers::~Peers() = default;

void Peers::all_reduce(const at::Tensor& tensor, Call call) {
  std::vector<at::Tensor> tensors{tensor};
  if (call == Call::backend) {
    group_->backend->allreduce(tensors)->wait();
    return;
  }
  const auto work = group_->group->allreduce(tensors);
  if (call == Call::asynchronous) (void)torch::ones({2, 2}).mul_(0.5);
  work->wait();
}

void Peers::broadcast(const at::Tensor& tensor, int from) {
  std::vector<at::Tensor> tensors{tensor};
  c10d::BroadcastOptions options;
  options.rootRank = from % size_;
  group_->group->broadcast(tensors, options)->wait();
}

std::vector<at::Tensor> Peers::all_gather(const at::Tensor& tensor) {
  std::vector<at::Tensor> given{tensor};
  std::vector<std::vector<at::Tensor>> gathered(1);
  for (int i = 0; i < size_; ++i) gathered[0].push_back(torch::empty_like(tensor));
  group_->group->allgather(gathered, given)->wait();
  return gathered[0];
}

void Peers::barrier() { group_->group->barrier()->wait(); }

}  // namespace judge

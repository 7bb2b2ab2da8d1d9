#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

namespace judge {

/// Processes on one machine that exchange tensors through Gloo.
class Peers {
 public:
  /// `file` is where they find each other.
  Peers(const std::string& file, int rank, int size);
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;
  ~Peers();

  [[nodiscard]] int size() const { return size_; }

  /// How a collective is called: by the dispatcher, the backend itself, or asynchronously.
  enum class Call { dispatched, backend, asynchronous };

  /// In place.
  void all_reduce(const at::Tensor& tensor, Call call);
  void broadcast(const at::Tensor& tensor, int from);
  [[nodiscard]] std::vector<at::Tensor> all_gather(const at::Tensor& tensor);
  void barrier();

 private:
  struct Group;
  std::unique_ptr<Group> group_;
  int size_;
};

}  // namespace judge

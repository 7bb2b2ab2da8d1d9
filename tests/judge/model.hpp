#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "left.hpp"
#include "peers.hpp"
#include "plan.hpp"

namespace judge {

/// What a worker leaves, each kind by itself.
struct Digests {
  Left parameters, buffers, gradients, optimizer, copies, generators;
  Contents held, elsewhere;  ///< Plain tensors; what is among the others.
};

/// A small model with its optimizer, its data and what it is given and returns.
class Model {
 public:
  /// Draws its parameters from the default generator.
  Model(const ModelPlan& plan, std::uint64_t seed);

  /// Executes an instruction that is about a model; `numbers` takes what is read, `square` is
  /// overwritten by some evaluations, `held` keeps tensors.
  void run(const Instruction& instruction, std::vector<double>& numbers, at::Tensor& square,
           std::vector<at::Tensor>& held);

  /// Where it `dies`, what neither a module nor an optimizer holds is not left.
  void leave(Digests& digests, bool dies) const;

  /// The plain tensors that it holds.
  void add_held(Contents& contents) const;

  /// Those, its parameters and buffers.
  void add_seen(Contents& contents) const;

  [[nodiscard]] std::vector<at::Tensor> parameters() const;

  /// Gradients become the mean of all processes'.
  void reduce_gradients(Peers& peers);

 private:
  struct Net;
  using Weak = c10::weak_intrusive_ptr<at::TensorImpl, c10::UndefinedTensorImpl>;

  void make_net();
  void make_optimizer();
  void make_batch(int number);
  at::Tensor forward(const at::Tensor& input);
  at::Tensor loss_of(const at::Tensor& output, const at::Tensor& target) const;
  void zero_grad(int way);
  void update();
  void reload();
  torch::nn::Module& module() const;
  void evaluate(const Instruction& instruction, std::vector<double>& numbers, at::Tensor& square);
  at::Tensor parameter(int number) const;
  at::Tensor buffer(int number) const;
  std::vector<at::Tensor> state_tensors() const;

  ModelPlan plan_;
  torch::nn::Sequential sequential_{nullptr};
  std::shared_ptr<Net> net_;
  std::vector<at::Tensor> own_;  ///< Parameters of a model that is no module.
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  std::vector<at::Tensor> momentum_, copies_;
  std::vector<Weak> parameter_handles_, buffer_handles_;  ///< Held by the module alone.
  at::Generator generator_;
  std::vector<float> memory_;
  at::Tensor data_set_, input_, target_, output_, loss_;
  double rate_ = 0;
};

}  // namespace judge

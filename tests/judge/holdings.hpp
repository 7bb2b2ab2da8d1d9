#pragma once

#include <torch/torch.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model.hpp"
#include "peers.hpp"
#include "plan.hpp"

namespace judge {

/// What a worker holds while it executes its instructions.
class Holdings {
 public:
  explicit Holdings(const Worker& worker, std::uint64_t program_seed);

  /// All but those that start and join workers and use what they have made. What an op throws
  /// counts as a number that was read.
  void run(const Instruction& instruction);

  /// Calls `act`, which does what the instruction says.
  void attempt(const Instruction& instruction, const std::function<void()>& act);

  /// From here on it exchanges tensors with others.
  void meet(std::unique_ptr<Peers> peers) { peers_ = std::move(peers); }

  void take_square(const Instruction& instruction, Holdings& parent);
  void add_result(const Instruction& instruction, Holdings& ended);
  void adopt_model(const Instruction& instruction, Holdings& ended);
  void average(const Instruction& instruction, const std::vector<Holdings*>& ended);

  /// A JSON object: digests of what is left. Where it `dies`, plain tensors are not. Calls no op.
  [[nodiscard]] std::string leave(bool dies) const;

 private:
  void run_plain(const Instruction& instruction);
  void run_together(const Instruction& instruction);
  void init(at::Tensor& to, int way);
  [[nodiscard]] at::Tensor unary(const at::Tensor& a, int which, int spelling) const;
  static void unary_in(at::Tensor& to, int which);
  [[nodiscard]] static at::Tensor binary(const at::Tensor& a, const at::Tensor& b,
                                         const Instruction& instruction);
  static void binary_in(at::Tensor& to, const at::Tensor& a, const Instruction& instruction);
  [[nodiscard]] at::Tensor gather(const at::Tensor& a, int which) const;
  [[nodiscard]] at::Tensor draw(const at::Tensor& a, int which,
                                const at::Generator& generator) const;
  [[nodiscard]] at::Tensor part(const at::Tensor& a, int which, int where) const;
  [[nodiscard]] at::Tensor gradient(const at::Tensor& a, const at::Tensor& b, int way);
  void view_in(at::Tensor& view, const Instruction& instruction) const;
  void make_model(std::size_t number);
  [[nodiscard]] at::Tensor unused(const at::Tensor& a, int which) const;
  void add_held(Contents& contents) const;
  at::Tensor& square(int number);

  const Worker& worker_;
  std::uint64_t program_seed_;
  std::array<std::vector<float>, 2> memory_;
  std::vector<at::Tensor> squares_, views_, held_, temporaries_;
  std::vector<std::unique_ptr<Model>> models_;
  std::vector<double> numbers_;
  int failures_ = 0;  ///< instructions that threw
  Contents seen_;     ///< what plain tensors have held at any time
  at::Generator generator_;
  std::unique_ptr<Peers> peers_;
};

}  // namespace judge

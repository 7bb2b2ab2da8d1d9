#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/dump_builder.hpp"

/// A small training run with the shape of a real one, for tests and benchmarks of dumps.
namespace ulpscope::test {

struct TrainingShape {
  int layers = 4;
  bool optimizer_events = true;
  std::uint64_t seed = 1;          ///< other seeds, other values
  bool varying_arguments = false;  ///< every optimizer op has a different scalar in every step
};

/// Sends steps of forward, backward and optimizer. Each layer has three ops forward (one of them
/// inside another), a node with two ops backward, a gradient, and two optimizer ops.
class TrainingRun {
 public:
  explicit TrainingRun(LaneBuilder& lane, const TrainingShape& shape = {})
      : lane_(lane), shape_(shape) {
    for (int layer = 0; layer < shape_.layers; ++layer) {
      auto& made = lane_.op("aten::empty").output(fresh(next_storage_++));
      writers_.push_back(made.position());
      parameter_values_.push_back(0);
      names_.push_back("layer" + std::to_string(layer) + ".weight");
      auto& filled = lane_.op("aten::normal_").no_grad().rng(42, draws_, draws_ + 1);
      ++draws_;
      filled.mutated(written_parameter(layer, filled.position()));
    }
  }

  /// One step; in an `unusual` one the output of an op in the middle is a view.
  void step(bool unusual = false) {
    std::vector<std::uint64_t> forward_ops;
    std::uint64_t activation = next_storage_++;
    std::uint64_t activation_writer = lane_.op("data::batch").output(fresh(activation)).position();
    std::uint64_t activation_value = value_;
    for (int layer = 0; layer < shape_.layers; ++layer) {
      const std::string module = "layer" + std::to_string(layer);
      const std::uint64_t output = next_storage_++;
      auto& outer = lane_.begin(EventKind::op, "aten::linear").root("Net").module(module);
      outer.input(again(activation, activation_value, activation_writer)).input(parameter(layer));
      outer.output(fresh(output, unusual && layer == shape_.layers / 2 ? slot_flag::view : 0));
      forward_ops.push_back(outer.position());
      const std::uint64_t outer_value = value_;
      lane_.op("aten::addmm")
          .root("Net")
          .module(module)
          .input(again(activation, activation_value, activation_writer))
          .input(parameter(layer))
          .output(again(output, outer_value));
      lane_.end();
      activation = next_storage_++;
      auto& relu = lane_.op("aten::relu").root("Net").module(module);
      relu.input(again(output, outer_value)).output(fresh(activation));
      activation_writer = relu.position();
      activation_value = value_;
    }
    for (int layer = shape_.layers; layer-- > 0;) {
      lane_.begin(EventKind::node, "AddmmBackward0").backward().forward(forward_ops[layer]);
      lane_.op("aten::mm")
          .backward()
          .input(again(activation, activation_value, activation_writer))
          .output(fresh(next_storage_++));
      const std::uint64_t gradient = next_storage_++;
      gradients_.resize(static_cast<std::size_t>(shape_.layers));
      auto& product = lane_.op("aten::mm").backward().output(fresh(gradient));
      gradients_[layer] = {gradient, product.position(), value_};
      lane_.end();
      lane_.add(EventKind::gradient, "AccumulateGrad").backward().input(again(gradient, value_));
    }
    if (shape_.optimizer_events) {
      lane_.begin(EventKind::optimizer, "SGD::step").no_grad().object(1);
    }
    for (int layer = 0; layer < shape_.layers; ++layer) {
      auto& update = lane_.op("aten::add_", "Tensor").no_grad();
      update.row().flags |= event_flag::in_optimizer;
      update.input(again(gradients_[layer].storage, gradients_[layer].value));
      update.mutated(written_parameter(layer, update.position()));
      if (shape_.varying_arguments) {
        const auto text = std::as_bytes(std::span(&steps_, 1));
        update.arguments({text.begin(), text.end()});
      }
    }
    if (shape_.optimizer_events) lane_.end();
    ++steps_;
    if (kept_ == nullptr) return lane_.send();
    lane_.flush();
    kept_->push_back(lane_.messages.take());
  }

  /// From here on messages are appended to `kept` instead of sent.
  void keep_messages(std::vector<std::vector<std::byte>>* kept) { kept_ = kept; }

 private:
  struct Gradient {
    std::uint64_t storage;
    std::uint64_t position;
    std::uint64_t value;
  };

  TensorSpec fresh(std::uint64_t storage, std::uint32_t flags = 0) {
    ++value_;
    return {.digest = shape_.seed * 1'000'003 + value_,
            .flags = flags,
            .storage = storage,
            .value = value_};
  }
  TensorSpec again(std::uint64_t storage, std::uint64_t value,
                   std::uint64_t writer = ring::kNone) const {
    return {.digest = shape_.seed * 1'000'003 + value,
            .storage = storage,
            .writer = writer,
            .value = value};
  }
  /// The parameter as it was written last.
  TensorSpec parameter(int layer) const {
    const auto index = static_cast<std::size_t>(layer);
    auto tensor = again(index + 1, parameter_values_[index], writers_[index]);
    tensor.flags = slot_flag::parameter | slot_flag::requires_grad;
    tensor.name = names_[index];
    tensor.writes = static_cast<std::uint32_t>(steps_ + 1);
    return tensor;
  }
  TensorSpec written_parameter(int layer, std::uint64_t writer) {
    const auto index = static_cast<std::size_t>(layer);
    writers_[index] = writer;
    parameter_values_[index] = ++value_;
    return parameter(layer);
  }

  LaneBuilder& lane_;
  TrainingShape shape_;
  std::vector<std::vector<std::byte>>* kept_ = nullptr;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> writers_;
  std::vector<std::uint64_t> parameter_values_;
  std::vector<Gradient> gradients_;
  std::uint64_t next_storage_ = 1;
  std::uint64_t value_ = 0;
  std::uint64_t draws_ = 1;
  std::uint64_t steps_ = 0;
};

}  // namespace ulpscope::test

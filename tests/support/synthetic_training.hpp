#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ulpscope/run.hpp"

/// A training run of any size that exists only as a rule: its events are generated when they are
/// requested, with nested ops, modules, backward nodes, gradients and an optimizer. The extra ops
/// of a run, and where its values diverge from the other's, are given beforehand.
namespace ulpscope::test {

/// One step: `batches` times forward and backward over `layers` blocks, then the optimizer.
struct SyntheticShape {
  std::int64_t steps = 10;
  int batches = 1;
  int layers = 27;
};

/// Something that a run does differently at one of the places of a step: its outermost ops.
struct Edit {
  enum class Kind : std::uint8_t {
    extra,     ///< an extra op before it, whose result is not read
    replaced,  ///< a different op in its place, with the same result
    inner,     ///< other ops inside it; only where it is a composite
  };
  Kind kind = Kind::extra;
  std::string op;  ///< the name of the op that is extra or takes the place
};

/// What distinguishes a run from others of the same shape.
struct SyntheticDifferences {
  std::map<std::pair<std::int64_t, std::uint32_t>, Edit> edits;  ///< by step and place
  /// From this place on every value that follows from the model differs.
  std::optional<std::pair<std::int64_t, std::uint32_t>> origin;
  std::optional<std::int64_t> extra_step;  ///< a step that other runs lack, and without effect
  /// Forwards without grad mode before the optimizer of a step, and their number.
  std::optional<std::pair<std::int64_t, int>> evaluation;
  bool other_program = false;  ///< other names, values and order throughout
};

class SyntheticTraining {
 public:
  /// Receives the events of a step in the order of their start. What they refer to is valid until
  /// it returns, names as long as the program lives.
  using Sink = std::function<void(const Event&)>;

  SyntheticTraining(const SyntheticShape& shape, SyntheticDifferences differences)
      : shape_(shape), differences_(std::move(differences)) {
    for (int layer = 0; layer < shape_.layers; ++layer) {
      modules_.push_back((differences_.other_program ? "stages." : "blocks.") +
                         std::to_string(layer));
      weights_.push_back(modules_.back() + ".weight");
      gradients_.push_back(weights_.back() + ".grad");
    }
    writers_.assign(static_cast<std::size_t>(shape_.layers), kNone);
    geometry_.dtype = Dtype::float32;
    geometry_.sizes = {32, 64};
    geometry_.strides = {64, 1};
    geometry_.flags = geometry_flag::dense | geometry_flag::contiguous;
  }
  SyntheticTraining(const SyntheticTraining&) = delete;
  SyntheticTraining& operator=(const SyntheticTraining&) = delete;

  [[nodiscard]] std::int64_t steps() const noexcept {
    return shape_.steps + (differences_.extra_step ? 1 : 0);
  }

  /// Makes the next step's events. Steps come in order, from 0.
  void next_step(const Sink& sink) {
    sink_ = &sink;
    const auto extra = differences_.extra_step;
    is_extra_ = extra == step_;
    content_ = extra && step_ > *extra ? step_ - 1 : step_;
    place_ = 0;
    value_ = 0;
    for (int batch = 0; batch < shape_.batches; ++batch) {
      forward(batch);
      backward();
    }
    const auto& evaluation = differences_.evaluation;
    if (evaluation && evaluation->first == step_)
      for (int batch = 0; batch < evaluation->second; ++batch) evaluate(batch);
    optimizer();
    ++step_;
  }

  /// Which places of a step are composites.
  [[nodiscard]] static std::vector<bool> places(const SyntheticShape& shape) {
    SyntheticTraining program(shape, {});
    program.composites_.emplace();
    program.next_step([](const Event&) {});
    return *program.composites_;
  }

 private:
  struct Value {
    Digest digest;
    std::uint64_t storage = kNone;
    std::uint64_t writer = kNone;
    std::uint32_t flags = 0;
    std::string_view name;
  };

  [[nodiscard]] static std::uint64_t mix(std::uint64_t x) noexcept {
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  }
  [[nodiscard]] static Digest digest_of(std::uint64_t a, std::uint64_t b, std::uint64_t salt) {
    const std::uint64_t high = mix(mix(mix(a) ^ b) ^ salt);
    return {high, mix(high ^ 0x5851f42d4c957f2dULL)};
  }

  /// True from the origin on.
  [[nodiscard]] bool parted() const {
    return differences_.origin && std::pair(content_, place_) >= *differences_.origin;
  }
  /// True if the current events follow from the origin: other batches of its step do not.
  [[nodiscard]] bool follows() const {
    if (!parted()) return false;
    return content_ > differences_.origin->first || batch_place_ <= differences_.origin->second;
  }
  [[nodiscard]] std::uint64_t salt() const {
    return (differences_.other_program ? 7U : 0U) + (follows() ? 1U : 0U) + (is_extra_ ? 100U : 0U);
  }

  [[nodiscard]] Value fresh(std::uint32_t flags = slot_flag::requires_grad) {
    ++value_;
    return {digest_of(static_cast<std::uint64_t>(content_), value_, salt()),
            next_storage_++,
            position_,
            flags,
            {}};
  }
  /// The value that every run reads in this step, however it has come so far.
  [[nodiscard]] Value data(std::uint64_t which) const {
    const std::uint64_t kind = (is_extra_ ? 1000U : 999U) + (differences_.other_program ? 20U : 0U);
    return {digest_of(static_cast<std::uint64_t>(content_), which, kind),
            which,
            kNone,
            slot_flag::unproduced,
            {}};
  }
  [[nodiscard]] Value weight(int layer) const {
    const auto at = static_cast<std::size_t>(layer);
    const bool other =
        differences_.origin && content_ > differences_.origin->first && writers_[at] != kNone;
    return {digest_of(static_cast<std::uint64_t>(content_), static_cast<std::uint64_t>(layer),
                      (other ? 5001 : 5000) + (differences_.other_program ? 70U : 0U)),
            1000 + static_cast<std::uint64_t>(layer), writers_[at],
            slot_flag::parameter | slot_flag::requires_grad, weights_[at]};
  }

  class Opened {
   public:
    explicit Opened(SyntheticTraining& program) : program_(program) {}
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;
    ~Opened() { program_.open_.pop_back(); }

   private:
    SyntheticTraining& program_;
  };

  void emit(EventKind kind, std::string_view name, const std::vector<Value>& in,
            const std::vector<Value>& out, Role left = Role::output,
            std::uint64_t forward = kNone) {
    Event event;
    event.kind = kind;
    event.op = name;
    event.position = position_++;
    event.parent = open_.empty() ? kNone : open_.back();
    event.depth = static_cast<std::uint16_t>(open_.size());
    event.phase = phase_;
    event.threads = 1;
    event.forward = forward;
    event.flags = phase_ == Phase::optimizer ? (in_optimizer_ ? event_flag::in_optimizer : 0U)
                                             : (phase_ == Phase::eval ? 0U : event_flag::grad_mode);
    if (phase_ == Phase::backward) event.flags |= event_flag::in_backward;
    if (layer_ >= 0) {
      event.has_module = true;
      event.root = "Net";
      event.module = modules_[static_cast<std::size_t>(layer_)];
      event.module_type = "Block";
    }
    slots_.clear();
    const auto add = [&](const Value& value, Role role, std::size_t index) {
      Slot slot;
      slot.role = role;
      slot.index = static_cast<std::uint16_t>(index);
      slot.flags = value.flags;
      slot.digest = value.digest;
      slot.storage = value.storage;
      slot.writer = value.writer;
      slot.writes = 1;
      slot.geometry = &geometry_;
      slot.name = value.name;
      if (role == Role::input) slot.flags |= slot_flag::verified;
      slots_.push_back(slot);
    };
    for (std::size_t k = 0; k < in.size(); ++k) add(in[k], Role::input, k);
    for (std::size_t k = 0; k < out.size(); ++k) add(out[k], left, k);
    event.slots = slots_;
    (*sink_)(event);
  }
  [[nodiscard]] Opened open(EventKind kind, std::string_view name, const std::vector<Value>& in,
                            const std::vector<Value>& out, std::uint64_t forward = kNone) {
    const std::uint64_t position = position_;
    emit(kind, name, in, out, Role::output, forward);
    open_.push_back(position);
    return Opened(*this);
  }

  /// An outermost op with what the run does differently there. Returns its position.
  std::uint64_t outermost(std::string_view name, const std::vector<Value>& in, const Value& out,
                          bool composite = false, Role left = Role::output) {
    const auto at = differences_.edits.find({content_, place_});
    const Edit* edit = at == differences_.edits.end() || is_extra_ ? nullptr : &at->second;
    if (composites_) composites_->push_back(composite);
    if (edit != nullptr && edit->kind == Edit::Kind::extra) {
      const Value unread{digest_of(mix(position_), 1, 77), next_storage_++, position_, 0, {}};
      emit(EventKind::op, edit->op, {in.front()}, {unread});
    }
    const bool replaced = edit != nullptr && edit->kind == Edit::Kind::replaced;
    const bool inner = edit != nullptr && edit->kind == Edit::Kind::inner;
    Value result = out;
    result.writer = position_;
    const std::uint64_t position = position_;
    if (composite) {
      const auto opened = open(EventKind::op, replaced ? edit->op : name, in, {result});
      if (inner) {
        const Value product{digest_of(mix(position_), 2, 77), next_storage_++, position_, 0, {}};
        emit(EventKind::op, "aten::mm", in, {product});
        emit(EventKind::op, "aten::add_", {product}, {result});
      } else {
        emit(EventKind::op, "aten::t", {in.back()}, {});
        emit(EventKind::op, "aten::addmm", in, {result});
      }
    } else {
      emit(EventKind::op, replaced ? std::string_view(edit->op) : name, in, {result}, left);
    }
    ++place_;
    return position;
  }

  [[nodiscard]] std::string_view named(std::string_view name, std::string_view otherwise) const {
    return differences_.other_program ? otherwise : name;
  }

  void forward(int batch) {
    batch_place_ = place_;
    phase_ = Phase::data;
    layer_ = -1;
    Value x = fresh(0);
    x.digest = data(static_cast<std::uint64_t>(batch)).digest;
    x.writer = outermost("aten::index_select", {data(2 * static_cast<std::uint64_t>(batch))}, x);
    Value target = fresh(0);
    target.digest = data(500'000 + static_cast<std::uint64_t>(batch)).digest;
    target.writer =
        outermost("aten::index_select", {data(2 * static_cast<std::uint64_t>(batch) + 1)}, target);
    phase_ = Phase::forward;
    forward_.clear();
    for (layer_ = 0; layer_ < shape_.layers; ++layer_) {
      Values& v = forward_.emplace_back();
      v.in = x;
      v.linear = fresh();
      v.activated = fresh();
      v.out = fresh();
      const auto opened = open(EventKind::module, "Block::forward", {x}, {v.out});
      v.linear_at = outermost("aten::linear", {x, weight(layer_)}, v.linear, true);
      v.linear.writer = v.linear_at;
      v.activated_at = outermost(named("aten::gelu", "aten::relu"), {v.linear}, v.activated);
      v.activated.writer = v.activated_at;
      v.out_at = outermost(named("aten::add", "aten::cat"), {v.activated, x}, v.out);
      v.out.writer = v.out_at;
      x = v.out;
    }
    layer_ = -1;
    loss_ = fresh();
    loss_at_ = outermost("aten::mse_loss", {x, target}, loss_);
  }

  /// A forward over other data that leaves nothing.
  void evaluate(int batch) {
    phase_ = Phase::eval;
    Value x = data(900'000 + static_cast<std::uint64_t>(batch));
    for (layer_ = 0; layer_ < shape_.layers; ++layer_) {
      Value out{digest_of(mix(position_), 3, 77), next_storage_++, kNone, 0, {}};
      const auto opened = open(EventKind::module, "Block::forward", {x}, {out});
      out.writer = position_;
      emit(EventKind::op, "aten::linear", {x, weight(layer_)}, {out});
      x = out;
    }
    layer_ = -1;
  }

  void backward() {
    phase_ = Phase::backward;
    Value gradient = fresh(0);
    {
      const auto node = open(EventKind::node, "MseLossBackward0", {}, {}, loss_at_);
      gradient.writer = outermost("aten::mse_loss_backward", {loss_}, gradient);
    }
    for (int layer = shape_.layers; layer-- > 0;) {
      const Values& v = forward_[static_cast<std::size_t>(layer)];
      { const auto node = open(EventKind::node, "AddBackward0", {}, {}, v.out_at); }
      Value inner = fresh(0);
      {
        const auto node = open(EventKind::node, "GeluBackward0", {}, {}, v.activated_at);
        inner.writer = outermost(named("aten::gelu_backward", "aten::threshold_backward"),
                                 {gradient, v.linear}, inner);
      }
      Value to_weight = fresh(slot_flag::gradient);
      gradient = fresh(0);
      {
        const auto node = open(EventKind::node, "AddmmBackward0", {}, {}, v.linear_at);
        gradient.writer = outermost("aten::mm", {inner, weight(layer)}, gradient);
        to_weight.writer = outermost("aten::mm", {inner, v.in}, to_weight);
      }
      to_weight.name = gradients_[static_cast<std::size_t>(layer)];
      accumulate(layer, to_weight);
    }
  }

  /// The first batch's gradient is taken over, those of later ones are added.
  void accumulate(int layer, const Value& gradient) {
    const auto node = open(EventKind::gradient, "torch::autograd::AccumulateGrad", {}, {gradient});
    if (batch_place_ == 0) {
      emit(EventKind::op, "aten::detach", {gradient}, {});
      weight_gradients_[layer] = gradient;
      return;
    }
    const Value before = weight_gradients_.at(layer);
    Value sum = fresh(slot_flag::gradient);
    sum.digest = digest_of(static_cast<std::uint64_t>(content_), value_,
                           (differences_.other_program ? 70U : 0U) + (parted() ? 4001U : 4000U));
    sum.storage = before.storage;
    sum.name = gradient.name;
    sum.writer = outermost("aten::add_", {before, gradient}, sum, false, Role::mutated);
    weight_gradients_[layer] = sum;
  }

  void optimizer() {
    phase_ = Phase::optimizer;
    in_optimizer_ = true;
    const auto opened = open(EventKind::optimizer, "SGD::step", {}, {});
    std::vector<std::uint64_t> written;
    for (int layer = 0; layer < shape_.layers; ++layer) {
      const Value before = weight(layer);
      Value after = before;
      const bool other = parted();
      after.digest = digest_of(static_cast<std::uint64_t>(content_ + (is_extra_ ? 0 : 1)),
                               static_cast<std::uint64_t>(layer),
                               (other ? 5001 : 5000) + (differences_.other_program ? 70U : 0U));
      written.push_back(
          outermost("aten::add_", {before, weight_gradients_[layer]}, after, false, Role::mutated));
    }
    writers_ = written;
    in_optimizer_ = false;
  }

  struct Values {
    Value in, linear, activated, out;
    std::uint64_t linear_at = kNone, activated_at = kNone, out_at = kNone;
  };

  SyntheticShape shape_;
  SyntheticDifferences differences_;
  Geometry geometry_;
  std::deque<std::string> modules_, weights_, gradients_;
  std::vector<std::uint64_t> writers_;
  const Sink* sink_ = nullptr;
  std::int64_t step_ = 0;
  std::int64_t content_ = 0;  ///< the step that other runs have under this number
  bool is_extra_ = false;
  std::uint32_t place_ = 0;
  std::uint32_t batch_place_ = 0;  ///< where the present batch begins
  std::uint64_t value_ = 0;
  std::uint64_t position_ = 0;
  std::uint64_t next_storage_ = 1'000'000;
  std::vector<std::uint64_t> open_;
  std::vector<Slot> slots_;
  Phase phase_ = Phase::data;
  bool in_optimizer_ = false;
  int layer_ = -1;
  std::vector<Values> forward_;
  Value loss_;
  std::uint64_t loss_at_ = kNone;
  std::map<int, Value> weight_gradients_;
  std::optional<std::vector<bool>> composites_;
};

}  // namespace ulpscope::test

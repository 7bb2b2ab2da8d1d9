#include "model.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "raw.hpp"

namespace judge {
namespace {

template <class T>
std::size_t index(const std::vector<T>& items, int number) {
  if (items.empty()) throw Nothing("there is none");
  return static_cast<std::size_t>(number) % items.size();
}

void zero_by_hand(const std::vector<at::Tensor>& parameters, bool to_none) {
  for (const at::Tensor& parameter : parameters) {
    if (to_none)
      parameter.mutable_grad() = at::Tensor();
    else if (parameter.grad().defined())
      parameter.mutable_grad().zero_();
  }
}

/// What an optimizer keeps for one parameter.
void add_state(const torch::optim::OptimizerParamState* state, std::vector<at::Tensor>& tensors,
               std::vector<std::int64_t>& steps) {
  using namespace torch::optim;
  const auto adam = [&](const auto* kept) {
    tensors.insert(tensors.end(), {kept->exp_avg(), kept->exp_avg_sq(), kept->max_exp_avg_sq()});
    steps.push_back(kept->step());
  };
  if (const auto* sgd = dynamic_cast<const SGDParamState*>(state)) {
    tensors.push_back(sgd->momentum_buffer());
  } else if (const auto* first = dynamic_cast<const AdamParamState*>(state)) {
    adam(first);
  } else if (const auto* second = dynamic_cast<const AdamWParamState*>(state)) {
    adam(second);
  } else if (const auto* rms = dynamic_cast<const RMSpropParamState*>(state)) {
    tensors.insert(tensors.end(), {rms->square_avg(), rms->momentum_buffer(), rms->grad_avg()});
    steps.push_back(rms->step());
  } else if (const auto* ada = dynamic_cast<const AdagradParamState*>(state)) {
    tensors.push_back(ada->sum());
    steps.push_back(ada->step());
  }
}

/// Constructs the layers of a plan and the one that makes its outputs.
template <class Keep>
void construct_layers(const ModelPlan& plan, Keep keep) {
  using namespace torch::nn;
  int width = plan.inputs;
  for (const Layer& layer : plan.layers) {
    switch (layer.kind) {
      case LayerKind::linear:
        keep(Linear(width, layer.width));
        width = layer.width;
        break;
      case LayerKind::relu:
        keep(ReLU());
        break;
      case LayerKind::tanh:
        keep(Tanh());
        break;
      case LayerKind::gelu:
        keep(GELU());
        break;
      case LayerKind::batch_norm:
        keep(BatchNorm1d(BatchNorm1dOptions(width).eps(layer.number)));
        break;
      case LayerKind::layer_norm:
        keep(LayerNorm(LayerNormOptions({width}).eps(layer.number)));
        break;
      case LayerKind::dropout:
        keep(Dropout(layer.number));
        break;
    }
  }
  keep(Linear(width, plan.outputs));
}

}  // namespace

/// A module of the program's own, with its layers in a Sequential or each registered by itself.
struct Model::Net : torch::nn::Module {
  explicit Net(const ModelPlan& plan) {
    if (plan.style == Style::module) body_ = register_module("body", torch::nn::Sequential());
    construct_layers(plan, [this](auto layer) {
      if (!body_.is_empty()) return body_->push_back(layer);
      register_module("layer" + std::to_string(layers_.size()), layer);
      layers_.emplace_back([layer](const at::Tensor& x) mutable { return layer->forward(x); });
    });
    if (plan.scale_parameter) scale_ = register_parameter("scale", torch::ones({plan.outputs}));
    if (plan.counter_buffer) calls_ = register_buffer("calls", torch::zeros({2}));
  }

  at::Tensor forward(at::Tensor x) {
    if (!body_.is_empty()) x = body_->forward(x);
    for (const auto& layer : layers_) x = layer(x);
    if (scale_.defined()) x = x * scale_;
    if (calls_.defined()) {
      torch::NoGradGuard no_grad;
      calls_.add_(1);
    }
    return x;
  }

 private:
  torch::nn::Sequential body_{nullptr};
  std::vector<std::function<at::Tensor(const at::Tensor&)>> layers_;
  at::Tensor scale_, calls_;
};

Model::Model(const ModelPlan& plan, std::uint64_t seed)
    : plan_(plan), generator_(at::detail::createCPUGenerator(seed + plan.seed)), rate_(plan.lr) {
  make_net();
  make_optimizer();
  if (plan_.has_ema)
    for (const at::Tensor& one : parameters()) copies_.push_back(one.detach().clone());
  memory_.resize(static_cast<std::size_t>(plan_.batch * plan_.inputs));
  if (plan_.source == Source::data_set)
    data_set_ = torch::rand({4 * plan_.batch, plan_.inputs}, generator_);
}

void Model::make_net() {
  if (plan_.style == Style::tensors) {
    int width = plan_.inputs;
    const auto add = [&](int next) {
      own_.push_back(torch::rand({width, next}, generator_).sub_(0.5).requires_grad_());
      own_.push_back(torch::zeros({next}, torch::requires_grad()));
      width = next;
    };
    for (const Layer& layer : plan_.layers)
      if (layer.kind == LayerKind::linear) add(layer.width);
    add(plan_.outputs);
    return;
  }
  if (plan_.style == Style::sequential) {
    sequential_ = torch::nn::Sequential();
    construct_layers(plan_, [this](auto layer) { sequential_->push_back(layer); });
  } else {
    net_ = std::make_shared<Net>(plan_);
  }
  for (const auto& item : module().named_parameters())
    parameter_handles_.emplace_back(item.value().getIntrusivePtr());
  for (const auto& item : module().named_buffers())
    buffer_handles_.emplace_back(item.value().getIntrusivePtr());
}

torch::nn::Module& Model::module() const {
  if (net_) return *net_;
  if (sequential_.is_empty()) throw Nothing("the model is no module");
  return *sequential_.ptr();
}

void Model::make_optimizer() {
  std::vector<at::Tensor> first = plan_.style == Style::tensors ? own_ : module().parameters();
  std::vector<at::Tensor> second;
  if (plan_.two_groups && first.size() > 1) {
    second.push_back(first.back());
    first.pop_back();
  }
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(first);
  if (!second.empty()) groups.emplace_back(second);
  using namespace torch::optim;
  switch (plan_.update) {
    case Update::sgd:
      optimizer_ = std::make_unique<SGD>(
          groups, SGDOptions(plan_.lr).momentum(plan_.momentum).weight_decay(plan_.weight_decay));
      break;
    case Update::adam:
      optimizer_ = std::make_unique<Adam>(groups, AdamOptions(plan_.lr)
                                                      .betas({plan_.beta, 0.9375})
                                                      .eps(plan_.eps)
                                                      .amsgrad(plan_.momentum > 0));
      break;
    case Update::adamw:
      optimizer_ = std::make_unique<AdamW>(groups, AdamWOptions(plan_.lr)
                                                       .betas({plan_.beta, 0.9375})
                                                       .eps(plan_.eps)
                                                       .weight_decay(plan_.weight_decay));
      break;
    case Update::rmsprop:
      optimizer_ = std::make_unique<RMSprop>(
          groups,
          RMSpropOptions(plan_.lr).alpha(plan_.beta).eps(plan_.eps).momentum(plan_.momentum));
      break;
    case Update::adagrad:
      optimizer_ = std::make_unique<Adagrad>(
          groups, AdagradOptions(plan_.lr).weight_decay(plan_.weight_decay).eps(plan_.eps));
      break;
    default:
      break;
  }
  if (optimizer_ && !second.empty()) {
    auto& options = optimizer_->param_groups().back().options();
    options.set_lr(plan_.lr / 2);
  }
}

std::vector<at::Tensor> Model::parameters() const {
  if (plan_.style == Style::tensors) return own_;
  std::vector<at::Tensor> all;
  for (const Weak& handle : parameter_handles_) all.emplace_back(handle.lock());
  return all;
}

at::Tensor Model::parameter(int number) const {
  const auto all = parameters();
  return all[index(all, number)];
}

at::Tensor Model::buffer(int number) const {
  return at::Tensor(buffer_handles_[index(buffer_handles_, number)].lock());
}

void Model::make_batch(int number) {
  switch (plan_.source) {
    case Source::own_generator:
      input_ = torch::rand({plan_.batch, plan_.inputs}, generator_);
      break;
    case Source::default_generator:
      input_ = torch::randn({plan_.batch, plan_.inputs});
      break;
    case Source::formula:
      input_ = torch::sin(torch::arange(plan_.batch * plan_.inputs, torch::kFloat) + number)
                   .view({plan_.batch, plan_.inputs});
      break;
    case Source::memory:
      for (std::size_t i = 0; i < memory_.size(); ++i)
        memory_[i] = std::sin(static_cast<float>(i) * 0.7F + static_cast<float>(number));
      input_ = torch::from_blob(memory_.data(), {plan_.batch, plan_.inputs});
      break;
    case Source::data_set:
      input_ = data_set_.narrow(0, number % 4 * plan_.batch, plan_.batch);
      break;
  }
  if (plan_.loss == Loss::cross_entropy) {
    std::vector<std::int64_t> labels;
    for (int i = 0; i < plan_.batch; ++i) labels.push_back((i * 3 + number) % plan_.outputs);
    target_ = torch::tensor(labels);
  } else {
    target_ = torch::cos(input_.sum(1, /*keepdim=*/true)).repeat({1, plan_.outputs});
  }
}

at::Tensor Model::forward(const at::Tensor& input) {
  if (net_) return net_->forward(input);
  if (!sequential_.is_empty()) return sequential_->forward(input);
  at::Tensor x = input;
  for (std::size_t i = 0; i + 1 < own_.size(); i += 2) {
    x = x.mm(own_[i]) + own_[i + 1];
    if (i + 2 < own_.size()) x = torch::tanh(x);
  }
  return x;
}

at::Tensor Model::loss_of(const at::Tensor& output, const at::Tensor& target) const {
  namespace F = torch::nn::functional;
  switch (plan_.loss) {
    case Loss::mse:
      return F::mse_loss(output, target);
    case Loss::cross_entropy:
      return F::cross_entropy(output, target);
    case Loss::smooth_l1:
      return torch::smooth_l1_loss(output, target);
    case Loss::by_hand:
      break;
  }
  const at::Tensor difference = output - target;
  return (difference * difference).sum() / difference.numel();
}

void Model::zero_grad(int way) {
  const bool to_none = way % 2 == 0;
  if (way < 2 && optimizer_)
    optimizer_->zero_grad(to_none);
  else if (way < 4 && plan_.style != Style::tensors)
    module().zero_grad(to_none);
  else
    zero_by_hand(parameters(), to_none);
}

void Model::update() {
  if (optimizer_) {
    optimizer_->step();
    return;
  }
  torch::NoGradGuard no_grad;
  const auto all = parameters();
  if (plan_.update == Update::foreach) {
    std::vector<at::Tensor> written, gradients;
    for (const at::Tensor& one : all) {
      if (!one.grad().defined()) continue;
      written.push_back(one);
      gradients.push_back(one.grad());
    }
    at::_foreach_add_(written, gradients, -rate_);
    return;
  }
  momentum_.resize(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].grad().defined()) continue;
    if (plan_.update == Update::by_set_data) {
      all[i].set_data(all[i].detach() - rate_ * all[i].grad());
      continue;
    }
    at::Tensor change = all[i].grad();
    if (plan_.momentum > 0) {
      if (momentum_[i].defined())
        momentum_[i].mul_(plan_.momentum).add_(change);
      else
        momentum_[i] = change.clone();
      change = momentum_[i];
    }
    all[i].add_(change, -rate_);
  }
}

void Model::evaluate(const Instruction& instruction, std::vector<double>& numbers,
                     at::Tensor& square) {
  const bool is_module = plan_.style != Style::tensors;
  const bool trains = is_module && module().is_training();
  if (is_module) module().eval();
  {
    torch::NoGradGuard no_grad;
    const at::Tensor output = forward(instruction.spelling == 1   ? input_.clone()
                                      : instruction.spelling == 2 ? input_.detach()
                                                                  : input_);
    const int use = instruction.i % 4;
    if (use == 0 || use == 2) numbers.push_back(output.sum().item<double>());
    if (use == 1 || use == 2) square = square + output.mean();
  }
  if (is_module) module().train(trains);
}

std::vector<at::Tensor> Model::state_tensors() const {
  std::vector<at::Tensor> tensors;
  std::vector<std::int64_t> steps;
  for (const at::Tensor& one : momentum_) tensors.push_back(one);
  if (optimizer_) {
    for (const at::Tensor& one : parameters()) {
      const auto found = optimizer_->state().find(one.unsafeGetTensorImpl());
      if (found != optimizer_->state().end()) add_state(found->second.get(), tensors, steps);
    }
  }
  std::erase_if(tensors, [](const at::Tensor& one) { return !one.defined(); });
  return tensors;
}

void Model::reduce_gradients(Peers& peers) {
  torch::NoGradGuard no_grad;
  // Those without a gradient take part, or the others would wait for them.
  std::vector<at::Tensor> gradients, flat;
  for (const at::Tensor& one : parameters()) {
    gradients.push_back(one.grad().defined() ? one.grad() : torch::zeros_like(one));
    flat.push_back(gradients.back().reshape({-1}));
  }
  const at::Tensor bucket = torch::cat(flat);
  peers.all_reduce(bucket, Peers::Call::dispatched);
  bucket.div_(peers.size());
  std::int64_t first = 0;
  for (const at::Tensor& gradient : gradients) {
    gradient.copy_(bucket.narrow(0, first, gradient.numel()).view(gradient.sizes()));
    first += gradient.numel();
  }
}

void Model::reload() {
  std::stringstream file;
  if (plan_.style == Style::tensors) {
    torch::save(own_, file);
    std::vector<at::Tensor> loaded;
    torch::load(loaded, file);
    torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < own_.size(); ++i) own_[i].copy_(loaded[i]);
    return;
  }
  torch::serialize::OutputArchive written;
  module().save(written);
  written.save_to(file);
  torch::serialize::InputArchive read;
  read.load_from(file);
  module().load(read);
}

void Model::run(const Instruction& instruction, std::vector<double>& numbers, at::Tensor& square,
                std::vector<at::Tensor>& held) {
  const int i = instruction.i, j = instruction.j;
  const double x = instruction.x;
  switch (instruction.act) {
    case Act::batch:
      return make_batch(i);
    case Act::zero_grad:
      return zero_grad(i % 5);
    case Act::forward: {
      at::Tensor input = input_, target = target_;
      if (plan_.parts > 1) {
        input = input.slice(0, i % plan_.parts, std::nullopt, plan_.parts);
        target = target.slice(0, i % plan_.parts, std::nullopt, plan_.parts);
      }
      output_ = forward(input);
      loss_ = loss_of(output_, target);
      return;
    }
    case Act::backward:
      return loss_.backward();
    case Act::clip:
      if (i % 2 == 0)
        numbers.push_back(torch::nn::utils::clip_grad_norm_(parameters(), x));
      else
        torch::nn::utils::clip_grad_value_(parameters(), x);
      return;
    case Act::step:
      return update();
    case Act::read_loss:
      numbers.push_back(loss_.item<double>());
      return;
    case Act::evaluate:
      return evaluate(instruction, numbers, square);
    case Act::weight_raw:
      return move_by_ulp(element(parameter(i), j), 1);
    case Act::buffer_raw: {
      const at::Tensor one = buffer(i);
      if (one.scalar_type() == at::kLong)
        *one.data_ptr<std::int64_t>() += 1;
      else
        *element(one, 0) = static_cast<float>(x);
      return;
    }
    case Act::gradient_raw:
      return move_by_ulp(element(parameter(i).grad(), j), 1);
    case Act::state_raw: {
      const auto tensors = state_tensors();
      return move_by_ulp(element(tensors[index(tensors, i)], j), 1);
    }
    case Act::ema_raw:
      return move_by_ulp(element(copies_[index(copies_, i)], j), 1);
    case Act::schedule:
      rate_ *= x;
      if (optimizer_)
        for (auto& group : optimizer_->param_groups())
          group.options().set_lr(group.options().get_lr() * x);
      return;
    case Act::hold_parameter:
      held.push_back(parameter(i).detach());
      return;
    case Act::hold_output:
      held.push_back(output_);
      return;
    case Act::mode:
      return module().train(i % 2 == 0);
    case Act::reload:
      return reload();
    case Act::freeze: {
      at::Tensor frozen = parameter(i);
      frozen.set_requires_grad(false);
      return;
    }
    default:
      break;
  }
  torch::NoGradGuard no_grad;
  switch (instruction.act) {
    case Act::ema: {
      const auto all = parameters();
      for (std::size_t k = 0; k < copies_.size(); ++k) {
        if (instruction.spelling == 2)
          copies_[k].copy_(copies_[k] * x);
        else
          copies_[k].mul_(x);
        copies_[k].add_(instruction.spelling == 1 ? all[k].detach() : all[k], 1 - x);
      }
      return;
    }
    case Act::ema_into_model: {
      const auto all = parameters();
      for (std::size_t k = 0; k < copies_.size(); ++k) all[k].copy_(copies_[k]);
      return;
    }
    case Act::clamp_all:
      for (const at::Tensor& one : parameters()) one.clamp_(-x, x);
      return;
    case Act::scale_all:
      for (const at::Tensor& one : parameters()) one.mul_(x);
      return;
    case Act::scale_weight:
      parameter(i).mul_(x);
      return;
    case Act::weight_set_data: {
      const at::Tensor one = parameter(i);
      one.set_data(one.detach() * x);
      return;
    }
    case Act::buffer_shift: {
      const at::Tensor one = buffer(i);
      if (one.is_floating_point())
        one.add_(x);
      else
        one.add_(1);
      return;
    }
    case Act::gradient_scale: {
      const at::Tensor gradient = parameter(i).grad();
      gradient.mul_(x);
      return;
    }
    default:
      throw Nothing("not about a model");
  }
}

void Model::leave(Digests& digests, bool dies) const {
  const auto add = [&digests](Left& left, const at::Tensor& tensor) {
    left.add(tensor);
    digests.elsewhere.add(tensor);
  };
  if (plan_.style != Style::tensors || optimizer_ || !dies) {
    for (const at::Tensor& one : parameters()) {
      add(digests.parameters, one);
      // Gradients that die unread with their parameter may as well have been reset before.
      if (dies)
        digests.held.add(one.grad());
      else
        add(digests.gradients, one.grad());
    }
  }
  for (const Weak& handle : buffer_handles_) add(digests.buffers, at::Tensor(handle.lock()));
  if (optimizer_) {
    for (const at::Tensor& one : parameters()) {
      const auto found = optimizer_->state().find(one.unsafeGetTensorImpl());
      if (found == optimizer_->state().end()) continue;
      std::vector<at::Tensor> tensors;
      std::vector<std::int64_t> steps;
      add_state(found->second.get(), tensors, steps);
      for (const at::Tensor& tensor : tensors) add(digests.optimizer, tensor);
      for (const std::int64_t step : steps) digests.optimizer.add(step);
    }
  }
  if (dies) return;
  if (Left::has_drawn(generator_)) digests.generators.add(generator_);
  for (const at::Tensor& one : copies_) add(digests.copies, one);
  add_held(digests.held);
}

void Model::add_held(Contents& contents) const {
  for (const at::Tensor& one : {data_set_, input_, target_, output_, loss_}) contents.add(one);
  for (const at::Tensor& one : momentum_) contents.add(one);
}

void Model::add_seen(Contents& contents) const {
  add_held(contents);
  for (const at::Tensor& one : parameters()) contents.add(one);
  for (const Weak& handle : buffer_handles_) contents.add(at::Tensor(handle.lock()));
}

}  // namespace judge

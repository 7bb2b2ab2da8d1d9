#include "holdings.hpp"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "raw.hpp"

namespace judge {

Holdings::Holdings(const Worker& worker, std::uint64_t program_seed)
    : worker_(worker),
      program_seed_(program_seed),
      squares_(static_cast<std::size_t>(worker.squares)),
      views_(static_cast<std::size_t>(worker.views)),
      models_(worker.models.size()),
      generator_(at::detail::createCPUGenerator(worker.seed)) {
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    memory_[i].resize(static_cast<std::size_t>(worker.n * worker.n));
    for (std::size_t k = 0; k < memory_[i].size(); ++k)
      memory_[i][k] = std::cos(static_cast<float>(k + i + worker.seed));
  }
}

at::Tensor& Holdings::square(int number) { return squares_.at(static_cast<std::size_t>(number)); }

void Holdings::init(at::Tensor& to, int way) {
  const std::int64_t n = worker_.n;
  switch (way) {
    case 0:
      to = torch::rand({n, n}, generator_);
      return;
    case 1:
      to = torch::full({n, n}, 0.5);
      return;
    case 2:
      to = torch::sin(torch::arange(n * n, torch::kFloat)).view({n, n});
      return;
    case 3:
      to = torch::from_blob(memory_[0].data(), {n, n}).clone();
      return;
    case 4:
      to = torch::eye(n);
      return;
    default:
      to = torch::empty({n, n});
      for (std::int64_t i = 0; i < n * n; ++i)
        to.data_ptr<float>()[i] = 1.0F / static_cast<float>(i + 1);
      return;
  }
}

at::Tensor Holdings::unary(const at::Tensor& a, int which, int spelling) const {
  switch (which % 20) {
    case 0:
      return torch::relu(a);
    case 1:
      return torch::tanh(a);
    case 2:
      return torch::sigmoid(a);
    case 3:
      return spelling == 1 ? a.mul(-1) : torch::neg(a);
    case 4:
      return torch::abs(a);
    case 5:
      return torch::cos(a);
    case 6:
      return torch::softmax(a, 1);
    case 7:
      return torch::cumsum(a, 0) * 0.5;
    case 8:
      return std::get<0>(torch::sort(a, 1));
    case 9:
      return torch::flip(a, {0});
    case 10:
      return torch::round(a * 8) / 8;
    case 11:
      return torch::log1p(torch::abs(a));
    case 12:
      return torch::gelu(a);
    case 13:
      return torch::layer_norm(a, {worker_.n});
    case 14:
      return torch::triu(a);
    case 15:
      return torch::roll(a, 1, 0);
    case 16:
      return spelling == 1 ? a.transpose(0, 1).contiguous() : a.t().contiguous();
    case 17:
      return torch::sqrt(torch::abs(a));
    case 18:
      return torch::argsort(a, std::int64_t{1}).to(torch::kFloat) / worker_.n;
    default:
      return a - a.mean(1, /*keepdim=*/true);
  }
}

void Holdings::unary_in(at::Tensor& to, int which) {
  switch (which % 12) {
    case 0:
      to.relu_();
      return;
    case 1:
      to.tanh_();
      return;
    case 2:
      to.sigmoid_();
      return;
    case 3:
      to.neg_();
      return;
    case 4:
      to.abs_();
      return;
    case 5:
      to.cos_();
      return;
    case 6:
      to.clamp_(-1, 1);
      return;
    case 7:
      to.triu_();
      return;
    case 8:
      to.round_();
      return;
    case 9:
      to.sin_();
      return;
    case 10:
      to.fill_(0.25);
      return;
    default:
      to.masked_fill_(to < 0, 0.125);
      return;
  }
}

at::Tensor Holdings::binary(const at::Tensor& a, const at::Tensor& b,
                            const Instruction& instruction) {
  const int spelling = instruction.spelling;
  switch (instruction.i % 9) {
    case 0:
      return spelling == 1 ? b + a : spelling == 2 ? a - (-b) : a + b;
    case 1:
      return spelling == 1 ? a + b.neg() : spelling == 2 ? torch::sub(a.clone(), b) : a - b;
    case 2:
      return spelling == 1 ? b * a : spelling == 2 ? a.clone().mul_(b) : a * b;
    case 3:
      return torch::maximum(a, b);
    case 4:
      return torch::minimum(a, b);
    case 5:
      return torch::lerp(a, b, instruction.x);
    case 6:
      return torch::where(a > b, a, b * 0.5);
    case 7:
      return torch::atan2(a, b);
    default:
      return torch::add(a, b, instruction.x);
  }
}

void Holdings::binary_in(at::Tensor& to, const at::Tensor& a, const Instruction& instruction) {
  const int spelling = instruction.spelling;
  switch (instruction.i % 6) {
    case 0:
      if (spelling == 1)
        to.copy_(to + a);
      else if (spelling == 2)
        at::add_out(to, to, a);
      else
        to.add_(a);
      return;
    case 1:
      if (spelling)
        to.copy_(to * a);
      else
        to.mul_(a);
      return;
    case 2:
      to.sub_(a, 0.5);
      return;
    case 3:
      to.copy_(spelling ? a.clone() : a);
      return;
    case 4:
      to.addcmul_(a, a, 0.25);
      return;
    default:
      to.index_put_({torch::indexing::Slice(0, 1)}, a.index({torch::indexing::Slice(0, 1)}));
      return;
  }
}

at::Tensor Holdings::gather(const at::Tensor& a, int which) const {
  const std::int64_t n = worker_.n;
  const at::Tensor rows = torch::arange(n, torch::kLong).mul(3).remainder(n);
  switch (which % 6) {
    case 0:
      return a.index_select(0, rows);
    case 1:
      return a.clone().index_add_(0, rows, a, 0.5);
    case 2:
      return torch::zeros_like(a).scatter_add_(0, rows.unsqueeze(1).expand({n, n}), a);
    case 3:
      return a.masked_fill(a > 0.5, 0.25);
    case 4:
      return torch::gather(a, 1, rows.unsqueeze(0).expand({n, n}));
    default:
      return torch::embedding(a, rows);
  }
}

at::Tensor Holdings::draw(const at::Tensor& a, int which, const at::Generator& generator) const {
  const std::int64_t n = worker_.n;
  switch (which % 8) {
    case 0:
      return torch::rand({n, n}, generator);
    case 1:
      return torch::randn({n, n}, generator);
    case 2:
      return a.index_select(0, torch::randperm(n, generator));
    case 3:
      return torch::bernoulli(torch::full({n, n}, 0.5), generator) * a;
    case 4:
      return a.clone().uniform_(-1, 1, generator);
    case 5:
      return a + torch::empty({n, n}).normal_(0, 0.25, generator);
    case 6:
      return torch::randint(0, 5, {n, n}, generator).to(torch::kFloat) / 4;
    default:
      if (generator.unsafeGetGeneratorImpl() ==
          at::detail::getDefaultCPUGenerator().unsafeGetGeneratorImpl())
        return torch::dropout(a, 0.25, /*train=*/true);
      return a * torch::empty({n, n}).bernoulli_(0.75, generator);
  }
}

at::Tensor Holdings::part(const at::Tensor& a, int which, int where) const {
  const std::int64_t n = worker_.n, at = where % n;
  switch (which % 8) {
    case 0:
      return a[at];
    case 1:
      return a.select(1, at);
    case 2:
      return a.narrow(0, at, n - at);
    case 3:
      return a.diagonal();
    case 4:
      return a.t();
    case 5:
      return a.reshape({-1});
    case 6:
      return a.slice(1, at % 2, std::nullopt, 2);
    default:
      return a.unsqueeze(0);
  }
}

void Holdings::view_in(at::Tensor& view, const Instruction& instruction) const {
  switch (instruction.i % 6) {
    case 0:
      view.mul_(instruction.x);
      return;
    case 1:
      view.add_(instruction.x);
      return;
    case 2:
      view.zero_();
      return;
    case 3:
      view.fill_(instruction.x);
      return;
    case 4:
      view.clamp_(-instruction.x, instruction.x);
      return;
    default:
      view.tanh_();
      return;
  }
}

at::Tensor Holdings::gradient(const at::Tensor& a, const at::Tensor& b, int way) {
  const at::Tensor leaf = a.detach().clone().requires_grad_();
  const at::Tensor sum = (torch::tanh(leaf * b.detach()) + leaf.mm(b.detach())).sum();
  if (way % 3 == 0) return torch::autograd::grad({sum}, {leaf}).front();
  sum.backward();
  if (way % 3 == 1) held_.push_back(leaf);
  return leaf.grad().clone();
}

at::Tensor Holdings::unused(const at::Tensor& a, int which) const {
  if (which == 100) return torch::rand({worker_.n});
  if (which == 101) return torch::rand({worker_.n}, generator_);
  switch (which % 6) {
    case 0:
      return a + 1;
    case 1:
      return a.detach().clone().mul_(2);
    case 2:
      return a.mm(a);
    case 3:
      return torch::zeros({3});
    case 4:
      return a.sum();
    default:
      return a.t().contiguous();
  }
}

void Holdings::make_model(std::size_t number) {
  const ModelPlan& plan = worker_.models.at(number);
  if (!plan.seeds_itself) {
    models_[number] = std::make_unique<Model>(plan, worker_.seed);
    return;
  }
  static std::mutex constructs;
  const std::lock_guard lock(constructs);
  torch::manual_seed(plan.seed + program_seed_);
  models_[number] = std::make_unique<Model>(plan, worker_.seed);
}

void Holdings::run_plain(const Instruction& it) {
  const int spelling = it.spelling;
  switch (it.act) {
    case Act::init:
      return init(square(it.to), it.i);
    case Act::unary:
      square(it.to) = unary(square(it.a), it.i, spelling);
      return;
    case Act::unary_in:
      return unary_in(square(it.to), it.i);
    case Act::scale: {
      const at::Tensor& a = square(it.a);
      square(it.to) = spelling == 1 ? it.x * a : spelling == 2 ? a.clone().mul_(it.x) : a * it.x;
      return;
    }
    case Act::scale_in:
      if (spelling)
        square(it.to).copy_(square(it.to) * it.x);
      else
        square(it.to).mul_(it.x);
      return;
    case Act::shift: {
      const at::Tensor& a = square(it.a);
      square(it.to) = spelling == 1 ? it.x + a : spelling == 2 ? a.clone().add_(it.x) : a + it.x;
      return;
    }
    case Act::shift_in:
      square(it.to).add_(it.x);
      return;
    case Act::binary:
      square(it.to) = binary(square(it.a), square(it.b), it);
      return;
    case Act::binary_in:
      return binary_in(square(it.to), square(it.a), it);
    case Act::product: {
      const at::Tensor &a = square(it.a), &b = square(it.b);
      const double x = it.x / worker_.n;
      square(it.to) = (spelling == 1   ? torch::matmul(a, b)
                       : spelling == 2 ? at::mm(a.clone(), b)
                                       : a.mm(b)) *
                      x;
      return;
    }
    case Act::addmm:
      square(it.to) =
          torch::addmm(square(it.to), square(it.a), square(it.b), 0.5, it.x / worker_.n);
      return;
    case Act::concat:
      square(it.to) =
          torch::cat({square(it.a), square(it.b)}).narrow(0, it.i % (worker_.n + 1), worker_.n);
      return;
    case Act::sum_of: {
      at::Tensor sum = square(it.list.at(0));
      for (std::size_t i = 1; i < it.list.size(); ++i)
        sum = spelling ? sum.clone().add_(square(it.list[i])) : sum + square(it.list[i]);
      square(it.to) = sum;
      return;
    }
    case Act::foreach_scale: {
      std::vector<at::Tensor> all;
      for (const int one : it.list) all.push_back(square(one));
      at::_foreach_mul_(all, it.x);
      return;
    }
    case Act::cast: {
      constexpr at::ScalarType kTypes[] = {at::kDouble, at::kBFloat16, at::kHalf, at::kInt};
      square(it.to) = (square(it.a) * 4).to(kTypes[it.i % 4]).to(at::kFloat) / 4;
      return;
    }
    case Act::gather:
      square(it.to) = gather(square(it.a), it.i);
      return;
    case Act::draw:
      square(it.to) =
          draw(square(it.a), it.i, it.j == 0 ? at::detail::getDefaultCPUGenerator() : generator_);
      return;
    case Act::clone:
      square(it.to) =
          spelling ? torch::empty_like(square(it.a)).copy_(square(it.a)) : square(it.a).clone();
      return;
    case Act::detach:
      square(it.to) = square(it.a).detach();
      return;
    case Act::alias:
      square(it.to) = square(it.a);
      return;
    case Act::set_data:
      square(it.to).set_data(square(it.a));
      return;
    case Act::empty_copy: {
      at::Tensor copy = torch::empty_like(square(it.a));
      copy.copy_(square(it.a));
      square(it.to) = copy;
      return;
    }
    case Act::from_memory:
      square(it.to) = torch::from_blob(memory_.at(static_cast<std::size_t>(it.i % 2)).data(),
                                       {worker_.n, worker_.n});
      return;
    case Act::view:
      views_.at(static_cast<std::size_t>(it.to)) = part(square(it.a), it.i, it.j);
      return;
    case Act::view_in:
      return view_in(views_.at(static_cast<std::size_t>(it.to)), it);
    case Act::view_copy:
      views_.at(static_cast<std::size_t>(it.to))
          .copy_(square(it.a)[it.i % worker_.n][it.j % worker_.n]);
      return;
    case Act::read_view:
      square(it.to) = square(it.a) + views_.at(static_cast<std::size_t>(it.b)).sum();
      return;
    case Act::gradient:
      square(it.to) = gradient(square(it.a), square(it.b), it.i);
      return;
    case Act::through_file: {
      std::stringstream file;
      torch::save(square(it.a), file);
      at::Tensor loaded;
      torch::load(loaded, file);
      square(it.to) = loaded;
      return;
    }
    case Act::item: {
      const at::Tensor& a = square(it.a);
      const int which = it.i % 4;
      numbers_.push_back(which == 0   ? a.sum().item<double>()
                         : which == 1 ? a[it.j % worker_.n][0].item<double>()
                         : which == 2 ? static_cast<double>(a.mean().item<float>())
                                      : static_cast<double>((a > 0).sum().item<std::int64_t>()));
      return;
    }
    case Act::if_item:
      if (square(it.a).sum().item<float>() > static_cast<float>(it.i % 3 - 1))
        square(it.to).add_(it.x);
      return;
    case Act::raw_set:
      if (it.j != 0)
        move_by_ulp(element(square(it.to), it.i), it.j);
      else
        *element(square(it.to), it.i) = static_cast<float>(it.x);
      return;
    case Act::raw_fill:
      for (int k = 0; k < worker_.n * worker_.n; ++k)
        *element(square(it.to), k) = static_cast<float>(it.x) / static_cast<float>(k + 2);
      return;
    case Act::raw_copy:
      for (int k = 0; k < worker_.n * worker_.n; ++k)
        *element(square(it.to), k) = *element(square(it.a), k);
      return;
    case Act::raw_read:
      square(it.to).add_(*element(square(it.a), it.i));
      return;
    case Act::raw_memory: {
      auto& memory = memory_.at(static_cast<std::size_t>(it.i % 2));
      memory[static_cast<std::size_t>(it.j) % memory.size()] = static_cast<float>(it.x);
      return;
    }
    case Act::unused:
      seen_.add(unused(square(it.to), it.i));
      return;
    case Act::times_one:
      square(it.to) = square(it.to) * 1;
      return;
    case Act::double_transpose:
      square(it.to) = square(it.to).t().t();
      return;
    case Act::hold_longer:
      temporaries_.push_back(square(it.to));
      return;
    default:
      throw std::runtime_error("unknown instruction");
  }
}

void Holdings::take_square(const Instruction& instruction, Holdings& parent) {
  square(instruction.to) = parent.square(instruction.a).clone();
}

void Holdings::add_result(const Instruction& instruction, Holdings& ended) {
  square(instruction.to).add_(ended.square(instruction.a).sum());
}

void Holdings::adopt_model(const Instruction& instruction, Holdings& ended) {
  models_.at(static_cast<std::size_t>(instruction.to)) = std::move(ended.models_.at(0));
}

void Holdings::average(const Instruction& instruction, const std::vector<Holdings*>& ended) {
  Model* const model = models_.at(static_cast<std::size_t>(instruction.to)).get();
  for (const Holdings* one : ended)
    if (!model || !one || one->models_.empty() || !one->models_.front()) return;
  torch::NoGradGuard no_grad;
  const auto mine = model->parameters();
  std::vector<at::Tensor> sums;
  for (const at::Tensor& parameter : mine) sums.push_back(parameter.clone());
  for (const Holdings* one : ended) {
    const auto theirs = one->models_.front()->parameters();
    if (theirs.size() != mine.size()) return;
    for (std::size_t i = 0; i < mine.size(); ++i) {
      if (theirs[i].sizes() != mine[i].sizes()) return;
      sums[i].add_(theirs[i]);
    }
  }
  for (std::size_t i = 0; i < mine.size(); ++i)
    mine[i].copy_(sums[i] / static_cast<double>(ended.size() + 1));
}

void Holdings::run_together(const Instruction& it) {
  if (!peers_) throw Nothing("no peers");
  if (it.act == Act::barrier) return peers_->barrier();
  if (it.act == Act::reduce_gradients || it.act == Act::broadcast_model) {
    Model& model = *models_.at(static_cast<std::size_t>(it.to));
    if (it.act == Act::reduce_gradients) return model.reduce_gradients(*peers_);
    for (const at::Tensor& parameter : model.parameters()) peers_->broadcast(parameter.detach(), 0);
    return;
  }
  // A copy is contiguous in every process, whatever a mutation has made of the square.
  at::Tensor shared = square(it.to).detach().clone(at::MemoryFormat::Contiguous);
  if (it.act == Act::all_reduce) {
    peers_->all_reduce(shared, static_cast<Peers::Call>(it.i % 3));
  } else if (it.act == Act::broadcast) {
    peers_->broadcast(shared, it.i);
  } else {
    const auto all = peers_->all_gather(shared);
    shared = torch::zeros_like(shared);
    for (std::size_t i = 0; i < all.size(); ++i)
      shared.add_(all[i], 1.0 / static_cast<double>(i + 2));
  }
  square(it.to) = shared / peers_->size();
}

void Holdings::attempt(const Instruction& instruction, const std::function<void()>& act) {
  try {
    act();
  } catch (const std::exception& error) {
    ++failures_;
    static const bool says_why = std::getenv("RANDOM_RUN_ERRORS") != nullptr;
    if (says_why)
      std::fprintf(stderr, "%s, %s: %s\n", worker_.name.c_str(), name_of(instruction.act),
                   error.what());
  }
}

void Holdings::run(const Instruction& instruction) {
  attempt(instruction, [&] {
    if (instruction.act == Act::manual_seed) {
      torch::manual_seed(static_cast<std::uint64_t>(instruction.i) + program_seed_);
    } else if (instruction.act == Act::sleep) {
      std::this_thread::sleep_for(std::chrono::milliseconds(instruction.i));
    } else if (instruction.act == Act::make_model) {
      make_model(static_cast<std::size_t>(instruction.to));
    } else if (instruction.act > Act::make_model && instruction.act <= Act::freeze) {
      Model* const model = models_.at(static_cast<std::size_t>(instruction.to)).get();
      if (!model) throw Nothing("no such model yet");
      model->run(instruction, numbers_, square(instruction.a), held_);
    } else if (instruction.act >= Act::all_reduce && instruction.act <= Act::barrier) {
      run_together(instruction);
    } else {
      run_plain(instruction);
    }
  });
  add_held(seen_);
  for (const auto& model : models_)
    if (model) model->add_seen(seen_);
}

void Holdings::add_held(Contents& contents) const {
  for (const auto* tensors : {&squares_, &views_, &held_})
    for (const at::Tensor& tensor : *tensors) contents.add(tensor);
}

std::string Holdings::leave(bool dies) const {
  Digests digests;
  for (const auto& model : models_)
    if (model) model->leave(digests, dies);
  if (!dies) {
    add_held(digests.held);
    if (Left::has_drawn(generator_)) digests.generators.add(generator_);
  }
  std::ostringstream out;
  out << "{\"name\": \"" << worker_.name << '"';
  const auto field = [&out](const char* name, const std::string& digest) {
    out << ", \"" << name << "\": \"" << digest << '"';
  };
  field("parameters", digests.parameters.text());
  field("buffers", digests.buffers.text());
  field("gradients", digests.gradients.text());
  field("optimizer", digests.optimizer.text());
  field("copies", digests.copies.text());
  field("held", digests.held.text_without(digests.elsewhere));
  out << ", \"holds\": " << digests.held.list() << ", \"seen\": " << seen_.list();
  out << ", \"failures\": " << failures_;
  out << ", \"reads\": [";
  for (std::size_t k = 0; k < numbers_.size(); ++k) {
    Left number;
    number.add(numbers_[k]);
    out << (k > 0 ? ", " : "") << '"' << number.text() << '"';
  }
  out << ']';
  field("generators", digests.generators.text());
  out << '}';
  return out.str();
}

}  // namespace judge

#include <cstdio>
#include <functional>
#include <map>
#include <numeric>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <vector>

#include "distributed.hpp"

namespace distributed {
namespace {

constexpr int kTrainingSteps = 4;
constexpr double kRate = 0.1;

using Tensors = std::vector<at::Tensor>;
using Step = std::function<at::Tensor(int step)>;

at::Tensor batch() { return torch::rand({16, 8}); }

/// Every rank begins with the same parameters, and trains on different data.
torch::nn::Sequential make_model(const Rank& rank) {
  torch::manual_seed(7);
  torch::nn::Sequential model(torch::nn::Linear(8, 32), torch::nn::ReLU(),
                              torch::nn::Linear(32, 4));
  torch::manual_seed(static_cast<std::uint64_t>(100 + rank.rank));
  return model;
}

void print_losses(const Rank& rank, const Step& step) {
  for (int k = 0; k < kTrainingSteps; ++k) {
    rank.dawdle();
    std::printf("%s rank %d step %d: %.9g\n", rank.program.c_str(), rank.rank, k,
                step(k).item<float>());
  }
}

at::Tensor loss_of(const at::Tensor& result) { return result.square().mean(); }

/// Gradients are averaged in turn, each as soon as the one before has been sent.
void data_parallel(const Rank& rank) {
  torch::nn::Sequential model = make_model(rank);
  torch::optim::SGD optimizer(model->parameters(), kRate);
  print_losses(rank, [&](int step) {
    optimizer.zero_grad();
    const at::Tensor loss = loss_of(model->forward(batch()));
    loss.backward();
    std::vector<c10::intrusive_ptr<c10d::Work>> under_way;
    for (const at::Tensor& parameter : model->parameters()) {
      rank.perhaps_plant(parameter.grad(), step);
      Tensors gradients{parameter.grad()};
      under_way.push_back(rank.group.group->allreduce(gradients));
    }
    rank.dawdle();
    for (const auto& work : under_way) work->wait();
    for (const at::Tensor& parameter : model->parameters()) parameter.grad().div_(rank.size);
    optimizer.step();
    return loss;
  });
}

/// The engine of DistributedDataParallel.
void reducer(const Rank& rank) {
  torch::nn::Sequential model = make_model(rank);
  const Tensors parameters = model->parameters();
  torch::optim::SGD optimizer(parameters, kRate);
  c10d::Reducer reducer(parameters, {{2, 3}, {0, 1}}, rank.group.group,
                        std::vector<bool>(parameters.size(), false), 1 << 20, false, false, {},
                        1 << 20, false, false, {});
  print_losses(rank, [&](int step) {
    optimizer.zero_grad();
    reducer.prepare_for_forward();
    const at::Tensor given = batch();
    rank.perhaps_plant(given, step);
    const at::Tensor loss = loss_of(model->forward(given));
    reducer.prepare_for_backward({loss});
    rank.dawdle();
    loss.backward();
    optimizer.step();
    return loss;
  });
}

/// Each rank keeps one part of all parameters, which are gathered for forward and backward.
void sharded(const Rank& rank) {
  torch::nn::Sequential model = make_model(rank);
  const Tensors parameters = model->parameters();
  Tensors flat;
  for (const at::Tensor& parameter : parameters) flat.push_back(parameter.detach().flatten());
  at::Tensor whole = torch::cat(flat);
  whole = torch::constant_pad_nd(whole, {0, (-whole.numel() % rank.size + rank.size) % rank.size});
  at::Tensor shard = whole.chunk(rank.size)[rank.rank].clone();
  print_losses(rank, [&](int step) {
    at::Tensor gathered = torch::empty_like(whole);
    rank.perhaps_plant(shard, step);
    const auto gathering = rank.group.group->_allgather_base(gathered, shard);
    const at::Tensor given = batch();
    rank.dawdle();
    gathering->wait();
    std::int64_t begin = 0;
    for (at::Tensor parameter : parameters) {
      parameter.set_data(gathered.slice(0, begin, begin + parameter.numel()).view_as(parameter));
      parameter.mutable_grad() = at::Tensor();
      begin += parameter.numel();
    }
    const at::Tensor loss = loss_of(model->forward(given));
    loss.backward();
    at::Tensor gradients = torch::zeros_like(whole);
    begin = 0;
    for (const at::Tensor& parameter : parameters) {
      gradients.slice(0, begin, begin + parameter.numel()).copy_(parameter.grad().flatten());
      begin += parameter.numel();
    }
    at::Tensor mine = torch::empty_like(shard);
    rank.group.group->_reduce_scatter_base(mine, gradients)->wait();
    shard.sub_(mine, kRate / rank.size);
    return loss;
  });
}

/// Each rank has one layer: results go to the next rank, gradients to the one before.
void pipeline(const Rank& rank) {
  torch::nn::Linear layer(8, 8);
  torch::optim::SGD optimizer(layer->parameters(), kRate);
  auto& group = *rank.group.group;
  const bool first = rank.rank == 0;
  const bool last = rank.rank == rank.size - 1;
  print_losses(rank, [&](int step) {
    optimizer.zero_grad();
    Tensors given{first ? batch() : torch::empty({16, 8})};
    if (!first) group.recv(given, rank.rank - 1, 1)->wait();
    given[0].requires_grad_();
    rank.perhaps_plant(layer->weight, step);
    const at::Tensor result = torch::tanh(layer->forward(given[0]));
    if (last) {
      loss_of(result).backward();
    } else {
      Tensors sent{result.detach()};
      Tensors gradient{torch::empty_like(result)};
      group.send(sent, rank.rank + 1, 1)->wait();
      group.recv(gradient, rank.rank + 1, 2)->wait();
      result.backward(gradient[0]);
    }
    if (!first) {
      Tensors gradient{given[0].grad()};
      group.send(gradient, rank.rank - 1, 2)->wait();
    }
    optimizer.step();
    return loss_of(result.detach());
  });
}

/// Each rank has some rows of one layer and some columns of the next, whose results are added up.
void tensor_parallel(const Rank& rank) {
  torch::nn::Linear rows(8, 32 / rank.size);
  torch::nn::Linear columns(torch::nn::LinearOptions(32 / rank.size, 4).bias(false));
  Tensors parameters = rows->parameters();
  parameters.push_back(columns->weight);
  torch::optim::SGD optimizer(parameters, kRate);
  print_losses(rank, [&](int step) {
    optimizer.zero_grad();
    torch::manual_seed(static_cast<std::uint64_t>(step));
    rank.perhaps_plant(columns->weight, step);
    const at::Tensor part = columns->forward(torch::relu(rows->forward(batch())));
    Tensors sum{part.detach().clone()};
    rank.group.group->allreduce(sum)->wait();
    const at::Tensor result = sum[0].requires_grad_();
    const at::Tensor loss = loss_of(result);
    loss.backward();
    part.backward(result.grad());
    optimizer.step();
    return loss;
  });
}

}  // namespace

bool train(const Rank& rank) {
  const std::map<std::string, void (*)(const Rank&)> programs = {
      {"data_parallel", data_parallel},
      {"reducer", reducer},
      {"sharded", sharded},
      {"pipeline", pipeline},
      {"tensor_parallel", tensor_parallel}};
  const auto found = programs.find(rank.program);
  if (found == programs.end()) return false;
  found->second(rank);
  rank.group.group->barrier()->wait();
  return true;
}

}  // namespace distributed

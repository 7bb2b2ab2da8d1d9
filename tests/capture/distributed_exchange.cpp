#include <cstdio>
#include <functional>
#include <map>
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>
#include <vector>

#include "distributed.hpp"

namespace distributed {
namespace {

constexpr int kSteps = 3;
constexpr int kRows = 4096;
const std::string kGroup = "everybody";

using Tensors = std::vector<at::Tensor>;
using Work = c10::intrusive_ptr<c10d::Work>;

/// What a rank gives, and what it has when the collective is over.
using Exchange = std::function<at::Tensor(const Rank&, const at::Tensor& given)>;

/// The program computes something else while the backend is at work.
void wait(const Rank& rank, const Work& work) {
  (void)torch::ones({2, 2}).mul_(0.5);
  rank.dawdle();
  work->wait();
}

Tensors one_each(const Rank& rank, const at::Tensor& like) {
  Tensors made;
  for (int i = 0; i < rank.size; ++i) made.push_back(torch::empty_like(like));
  return made;
}

at::Tensor barrier(const Rank& rank, const at::Tensor& given) {
  wait(rank, rank.group.group->barrier());
  return given;
}

at::Tensor all_reduce(const Rank& rank, const at::Tensor& given) {
  Tensors tensors{given};
  wait(rank, rank.group.group->allreduce(tensors));
  return given;
}

at::Tensor all_reduce_raw(const Rank& rank, const at::Tensor& given) {
  Tensors tensors{given};
  wait(rank, rank.group.backend->allreduce(tensors));
  return given;
}

at::Tensor broadcast(const Rank& rank, const at::Tensor& given) {
  Tensors tensors{rank.rank == 1 ? given : torch::empty_like(given)};
  c10d::BroadcastOptions options;
  options.rootRank = 1;
  wait(rank, rank.group.group->broadcast(tensors, options));
  return tensors[0];
}

at::Tensor reduce(const Rank& rank, const at::Tensor& given) {
  Tensors tensors{given};
  wait(rank, rank.group.group->reduce(tensors));
  return given;
}

at::Tensor all_gather(const Rank& rank, const at::Tensor& given) {
  std::vector<Tensors> gathered{one_each(rank, given)};
  Tensors inputs{given};
  wait(rank, rank.group.group->allgather(gathered, inputs));
  return torch::cat(gathered[0]);
}

at::Tensor all_gather_base(const Rank& rank, const at::Tensor& given) {
  at::Tensor gathered = torch::empty({rank.size * kRows, 4});
  at::Tensor input = given;
  wait(rank, rank.group.group->_allgather_base(gathered, input));
  return gathered;
}

at::Tensor gather(const Rank& rank, const at::Tensor& given) {
  std::vector<Tensors> gathered;
  if (rank.rank == 0) gathered.push_back(one_each(rank, given));
  Tensors inputs{given};
  wait(rank, rank.group.group->gather(gathered, inputs));
  return rank.rank == 0 ? torch::cat(gathered[0]) : given;
}

at::Tensor scatter(const Rank& rank, const at::Tensor& given) {
  Tensors outputs{torch::empty_like(given)};
  std::vector<Tensors> inputs;
  if (rank.rank == 0) {
    inputs.emplace_back();
    for (int i = 0; i < rank.size; ++i) inputs[0].push_back(given + i);
  }
  wait(rank, rank.group.group->scatter(outputs, inputs));
  return outputs[0];
}

at::Tensor reduce_scatter(const Rank& rank, const at::Tensor& given) {
  Tensors outputs{torch::empty_like(given)};
  std::vector<Tensors> inputs{Tensors()};
  for (int i = 0; i < rank.size; ++i) inputs[0].push_back(given + i);
  wait(rank, rank.group.group->reduce_scatter(outputs, inputs));
  return outputs[0];
}

at::Tensor reduce_scatter_base(const Rank& rank, const at::Tensor& given) {
  at::Tensor output = torch::empty({kRows / rank.size, 4});
  at::Tensor input = given;
  wait(rank, rank.group.group->_reduce_scatter_base(output, input));
  return output;
}

at::Tensor all_to_all_base(const Rank& rank, const at::Tensor& given) {
  at::Tensor output = torch::empty_like(given);
  at::Tensor input = given;
  std::vector<std::int64_t> even;
  wait(rank, rank.group.group->alltoall_base(output, input, even, even));
  return output;
}

/// To the next rank, from the one before.
at::Tensor send_and_receive(const Rank& rank, const at::Tensor& given) {
  Tensors sent{given};
  Tensors received{torch::empty_like(given)};
  const Work sending = rank.group.group->send(sent, (rank.rank + 1) % rank.size, 7);
  const Work receiving =
      rank.group.group->recv(received, (rank.rank + rank.size - 1) % rank.size, 7);
  wait(rank, receiving);
  wait(rank, sending);
  return received[0];
}

/// Two parts of one buffer, the first of which arrives while the second is still filled.
at::Tensor all_reduce_in_parts(const Rank& rank, const at::Tensor& given) {
  at::Tensor buffer = torch::empty({2, kRows, 4});
  Tensors first{buffer[0]};
  Tensors second{buffer[1]};
  first[0].copy_(given);
  const Work begun = rank.group.group->allreduce(first);
  second[0].copy_(given * 3);
  const Work also_begun = rank.group.group->allreduce(second);
  wait(rank, also_begun);
  wait(rank, begun);
  return buffer.sum(0);
}

/// An op of `_c10d_functional`, called as Python calls it, and waited for.
at::Tensor call(const Rank& rank, const char* name, const std::vector<c10::IValue>& arguments) {
  auto& dispatcher = c10::Dispatcher::singleton();
  std::vector<c10::IValue> stack = arguments;
  dispatcher.findSchemaOrThrow(name, "").callBoxed(stack);
  rank.dawdle();
  dispatcher.findSchemaOrThrow("_c10d_functional::wait_tensor", "").callBoxed(stack);
  return stack.back().toTensor();
}

at::Tensor functional(const Rank& rank, const at::Tensor& given) {
  const at::Tensor sum = call(rank, "_c10d_functional::all_reduce", {given, "sum", kGroup});
  const at::Tensor gathered =
      call(rank, "_c10d_functional::all_gather_into_tensor", {sum, rank.size, kGroup});
  const at::Tensor share =
      call(rank, "_c10d_functional::reduce_scatter_tensor", {gathered, "sum", rank.size, kGroup});
  return share + call(rank, "_c10d_functional::broadcast", {given, 0, kGroup});
}

const std::map<std::string, Exchange>& exchanges() {
  static const std::map<std::string, Exchange> kExchanges = {
      {"barrier", barrier},
      {"all_reduce", all_reduce},
      {"all_reduce_raw", all_reduce_raw},
      {"all_reduce_in_parts", all_reduce_in_parts},
      {"broadcast", broadcast},
      {"reduce", reduce},
      {"all_gather", all_gather},
      {"all_gather_base", all_gather_base},
      {"gather", gather},
      {"scatter", scatter},
      {"reduce_scatter", reduce_scatter},
      {"reduce_scatter_base", reduce_scatter_base},
      {"all_to_all_base", all_to_all_base},
      {"send_and_receive", send_and_receive},
      {"functional", functional}};
  return kExchanges;
}

}  // namespace

bool run_exchange(const Rank& rank, const std::string& name) {
  const auto found = exchanges().find(name);
  if (found == exchanges().end()) return false;
  c10d::register_process_group(kGroup, rank.group.group);
  for (int step = 0; step < kSteps; ++step) {
    const at::Tensor given = torch::rand({kRows, 4});
    rank.perhaps_plant(given, step);
    rank.dawdle();
    std::printf("rank %d step %d: %.17g\n", rank.rank, step,
                found->second(rank, given).to(torch::kFloat64).sum().item<double>());
  }
  c10d::unregister_process_group(kGroup);
  rank.group.group->barrier()->wait();
  return true;
}

}  // namespace distributed

#include <cstdio>
#include <functional>
#include <map>
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>
#include <vector>

#include "distributed_collectives.hpp"

namespace distributed {
namespace {

constexpr int kExchanges = 3;
const std::string kGroup = "everybody";

/// What a rank contributes, and what it has after the collective.
using Exchange = std::function<at::Tensor(const Rank&, const at::Tensor& given)>;

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

/// NAME calls the group, NAME_raw the backend directly.
template <class Collective>
void add(std::map<std::string, Exchange>& all, const std::string& name, Collective collective) {
  all[name] = [=](const Rank& rank, const at::Tensor& given) {
    return collective(rank, *rank.group.group, given);
  };
  all[name + "_raw"] = [=](const Rank& rank, const at::Tensor& given) {
    return collective(rank, *rank.group.backend, given);
  };
}

std::map<std::string, Exchange> exchanges() {
  std::map<std::string, Exchange> all = {{"functional", functional}};
  add(all, "barrier", barrier);
  add(all, "all_reduce", all_reduce);
  add(all, "all_reduce_in_parts", all_reduce_in_parts);
  add(all, "all_reduce_twice", all_reduce_twice);
  add(all, "all_reduce_sparse", all_reduce_sparse);
  add(all, "all_reduce_coalesced", all_reduce_coalesced);
  add(all, "broadcast", broadcast);
  add(all, "reduce", reduce);
  add(all, "all_gather", all_gather);
  add(all, "all_gather_base", all_gather_base);
  add(all, "all_gather_coalesced", all_gather_coalesced);
  add(all, "all_gather_into_tensors", all_gather_into_tensors);
  add(all, "gather", gather);
  add(all, "scatter", scatter);
  add(all, "reduce_scatter", reduce_scatter);
  add(all, "reduce_scatter_base", reduce_scatter_base);
  add(all, "reduce_scatter_tensors", reduce_scatter_tensors);
  add(all, "all_to_all_base", all_to_all_base);
  add(all, "all_to_all_uneven", all_to_all_uneven);
  add(all, "send_and_receive", send_and_receive);
  add(all, "receive_from_any", receive_from_any);
  return all;
}

}  // namespace

bool needs_order(const std::string& name) { return name.starts_with("all_reduce_twice"); }

bool run_exchange(const Rank& rank) {
  const std::map<std::string, Exchange> known = exchanges();
  const auto found = known.find(rank.program);
  if (found == known.end()) return false;
  c10d::register_process_group(kGroup, rank.group.group);
  for (int step = 0; step < kExchanges; ++step) {
    const at::Tensor given = torch::rand({kRows, 4});
    rank.perhaps_plant(given, step);
    rank.dawdle();
    std::printf("%s rank %d step %d: %.17g\n", rank.program.c_str(), rank.rank, step,
                found->second(rank, given).to(torch::kFloat64).sum().item<double>());
  }
  c10d::unregister_process_group(kGroup);
  rank.group.group->barrier()->wait();
  return true;
}

}  // namespace distributed

#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "distributed.hpp"

/// Collectives, each called on a ProcessGroup, which goes through the dispatcher, or on the Backend
/// that executes them. Each returns what the rank has at the end.
namespace distributed {

inline constexpr int kRows = 4096;

using Tensors = std::vector<at::Tensor>;
using Work = c10::intrusive_ptr<c10d::Work>;

/// The program computes something else while the backend is at work.
inline void wait(const Rank& rank, const Work& work) {
  (void)torch::ones({2, 2}).mul_(0.5);
  rank.dawdle();
  work->wait();
}

inline Tensors one_each(const Rank& rank, const at::Tensor& like) {
  Tensors made;
  for (int i = 0; i < rank.size; ++i) made.push_back(torch::empty_like(like));
  return made;
}

inline const auto barrier = [](const Rank& rank, auto& group,
                               const at::Tensor& given) -> at::Tensor {
  wait(rank, group.barrier());
  return given;
};

inline const auto all_reduce = [](const Rank& rank, auto& group,
                                  const at::Tensor& given) -> at::Tensor {
  Tensors tensors{given};
  wait(rank, group.allreduce(tensors));
  return given;
};

inline const auto broadcast = [](const Rank& rank, auto& group,
                                 const at::Tensor& given) -> at::Tensor {
  Tensors tensors{rank.rank == 1 ? given : torch::empty_like(given)};
  c10d::BroadcastOptions options;
  options.rootRank = 1;
  wait(rank, group.broadcast(tensors, options));
  return tensors[0];
};

inline const auto reduce = [](const Rank& rank, auto& group,
                              const at::Tensor& given) -> at::Tensor {
  Tensors tensors{given};
  wait(rank, group.reduce(tensors));
  return given;
};

inline const auto all_gather = [](const Rank& rank, auto& group,
                                  const at::Tensor& given) -> at::Tensor {
  std::vector<Tensors> gathered{one_each(rank, given)};
  Tensors inputs{given};
  wait(rank, group.allgather(gathered, inputs));
  return torch::cat(gathered[0]);
};

inline const auto all_gather_base = [](const Rank& rank, auto& group,
                                       const at::Tensor& given) -> at::Tensor {
  at::Tensor gathered = torch::empty({rank.size * kRows, 4});
  at::Tensor input = given;
  wait(rank, group._allgather_base(gathered, input));
  return gathered;
};

inline const auto gather = [](const Rank& rank, auto& group,
                              const at::Tensor& given) -> at::Tensor {
  std::vector<Tensors> gathered;
  if (rank.rank == 0) gathered.push_back(one_each(rank, given));
  Tensors inputs{given};
  wait(rank, group.gather(gathered, inputs));
  return rank.rank == 0 ? torch::cat(gathered[0]) : given;
};

inline const auto scatter = [](const Rank& rank, auto& group,
                               const at::Tensor& given) -> at::Tensor {
  Tensors outputs{torch::empty_like(given)};
  std::vector<Tensors> inputs;
  if (rank.rank == 0) {
    inputs.emplace_back();
    for (int i = 0; i < rank.size; ++i) inputs[0].push_back(given + i);
  }
  wait(rank, group.scatter(outputs, inputs));
  return outputs[0];
};

inline const auto reduce_scatter = [](const Rank& rank, auto& group,
                                      const at::Tensor& given) -> at::Tensor {
  Tensors outputs{torch::empty_like(given)};
  std::vector<Tensors> inputs{Tensors()};
  for (int i = 0; i < rank.size; ++i) inputs[0].push_back(given + i);
  wait(rank, group.reduce_scatter(outputs, inputs));
  return outputs[0];
};

inline const auto reduce_scatter_base = [](const Rank& rank, auto& group,
                                           const at::Tensor& given) -> at::Tensor {
  at::Tensor output = torch::empty({kRows / rank.size, 4});
  at::Tensor input = given;
  wait(rank, group._reduce_scatter_base(output, input));
  return output;
};

inline const auto all_to_all_base = [](const Rank& rank, auto& group,
                                       const at::Tensor& given) -> at::Tensor {
  at::Tensor output = torch::empty_like(given);
  at::Tensor input = given;
  std::vector<std::int64_t> even;
  wait(rank, group.alltoall_base(output, input, even, even));
  return output;
};

/// To the next rank, from the one before.
inline const auto send_and_receive = [](const Rank& rank, auto& group,
                                        const at::Tensor& given) -> at::Tensor {
  Tensors sent{given};
  Tensors received{torch::empty_like(given)};
  const Work sending = group.send(sent, (rank.rank + 1) % rank.size, 7);
  const Work receiving = group.recv(received, (rank.rank + rank.size - 1) % rank.size, 7);
  wait(rank, receiving);
  wait(rank, sending);
  return received[0];
};

/// Two parts of one buffer, the first of which arrives while the second is still filled.
inline const auto all_reduce_in_parts = [](const Rank& rank, auto& group,
                                           const at::Tensor& given) -> at::Tensor {
  at::Tensor buffer = torch::empty({2, kRows, 4});
  Tensors first{buffer[0]};
  Tensors second{buffer[1]};
  first[0].copy_(given);
  const Work begun = group.allreduce(first);
  second[0].copy_(given * 3);
  const Work also_begun = group.allreduce(second);
  wait(rank, also_begun);
  wait(rank, begun);
  return buffer.sum(0);
};

/// The second begins on what the first is still writing.
inline const auto all_reduce_twice = [](const Rank& rank, auto& group,
                                        const at::Tensor& given) -> at::Tensor {
  Tensors tensors{given};
  const Work first = group.allreduce(tensors);
  rank.dawdle();
  const Work second = group.allreduce(tensors);
  wait(rank, first);
  wait(rank, second);
  return given;
};

inline const auto all_reduce_sparse = [](const Rank& rank, auto& group,
                                         const at::Tensor& given) -> at::Tensor {
  const at::Tensor rows = torch::arange(0, kRows, 2).unsqueeze(0) + rank.rank;
  Tensors tensors{
      torch::sparse_coo_tensor(rows, given.slice(0, 0, kRows / 2).clone(), {kRows + rank.size, 4})};
  wait(rank, group.allreduce(tensors));
  return tensors[0].to_dense();
};

inline const auto all_reduce_coalesced = [](const Rank& rank, auto& group,
                                            const at::Tensor& given) -> at::Tensor {
  Tensors tensors{given, given * 2};
  wait(rank, group.allreduce_coalesced(tensors));
  return tensors[0] + tensors[1];
};

inline const auto all_gather_coalesced = [](const Rank& rank, auto& group,
                                            const at::Tensor& given) -> at::Tensor {
  Tensors inputs{given, given * 2};
  std::vector<Tensors> gathered;
  for (int i = 0; i < rank.size; ++i)
    gathered.push_back({torch::empty_like(given), torch::empty_like(given)});
  wait(rank, group.allgather_coalesced(gathered, inputs));
  at::Tensor sum = torch::zeros_like(given);
  for (const Tensors& of_rank : gathered) sum += of_rank[0] - of_rank[1];
  return sum;
};

inline const auto all_gather_into_tensors = [](const Rank& rank, auto& group,
                                               const at::Tensor& given) -> at::Tensor {
  Tensors inputs{given, given * 2};
  Tensors outputs{torch::empty({rank.size * kRows, 4}), torch::empty({rank.size * kRows, 4})};
  wait(rank, group.allgather_into_tensor_coalesced(outputs, inputs));
  return outputs[0] - outputs[1];
};

inline const auto reduce_scatter_tensors = [](const Rank& rank, auto& group,
                                              const at::Tensor& given) -> at::Tensor {
  Tensors inputs{given, given * 2};
  Tensors outputs{torch::empty({kRows / rank.size, 4}), torch::empty({kRows / rank.size, 4})};
  wait(rank, group.reduce_scatter_tensor_coalesced(outputs, inputs));
  return outputs[0] - outputs[1];
};

/// Rank r sends r + 1 rows to each other one, and the rest to itself.
inline const auto all_to_all_uneven = [](const Rank& rank, auto& group,
                                         const at::Tensor& given) -> at::Tensor {
  std::vector<std::int64_t> sent(rank.size, rank.rank + 1);
  std::vector<std::int64_t> received;
  for (int i = 0; i < rank.size; ++i) received.push_back(i + 1);
  sent[rank.rank] = kRows - (rank.size - 1) * (rank.rank + 1);
  received[rank.rank] = sent[rank.rank];
  const std::int64_t rows = std::accumulate(received.begin(), received.end(), std::int64_t{0});
  at::Tensor output = torch::empty({rows, 4});
  at::Tensor input = given;
  wait(rank, group.alltoall_base(output, input, received, sent));
  return output;
};

/// Rank 0 is sent the tensors of all others, in the order in which it is expected to see them.
inline const auto receive_from_any = [](const Rank& rank, auto& group,
                                        const at::Tensor& given) -> at::Tensor {
  Tensors tensors{given};
  if (rank.rank != 0) {
    wait(rank, group.send(tensors, 0, rank.rank));
    return given;
  }
  at::Tensor sum = given.clone();
  for (int other = 1; other < rank.size; ++other) {
    Tensors received{torch::empty_like(given)};
    wait(rank, group.recvAnysource(received, other));
    sum += received[0];
  }
  return sum;
};

}  // namespace distributed

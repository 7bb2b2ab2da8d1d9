"""Data-parallel training in two processes, with parameters in each and with shards of them."""

import torch
import torch.distributed as dist
from digest import print_digest
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel


def layers():
    return nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))


def run(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(4, 8)).square().mean().backward()
        optimizer.step()


def train(rank, port):
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    torch.manual_seed(rank)
    torch.set_num_threads(1)
    model = DistributedDataParallel(layers())
    run(model)
    sharded = layers()
    fully_shard(sharded[0])
    run(fully_shard(sharded))
    if rank == 0:
        print_digest(model)
        print([shard.to_local().sum().item() for shard in sharded.parameters()])
    dist.destroy_process_group()


if __name__ == "__main__":
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(train, args=(port,), nprocs=2)

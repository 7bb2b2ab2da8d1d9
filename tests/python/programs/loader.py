"""Batches that workers deliver, and noise of Python's generator.

Usage: loader.py SLOW_WORKER SEED_OF_PYTHON [own]

own: each worker draws from a generator of its own, without a seed.
"""

import random
import sys
import time

import torch
from digest import print_digest
from torch import nn
from torch.utils.data import DataLoader, Dataset, get_worker_info


class Samples(Dataset):
    def __init__(self, slow_worker, own_generator):
        self.slow_worker = slow_worker
        self.own_generator = own_generator
        self.generator = None

    def __len__(self):
        return 32

    def __getitem__(self, index):
        if get_worker_info().id == self.slow_worker:
            time.sleep(0.05)
        sample = torch.full((6,), float(index))
        if self.own_generator:
            self.generator = self.generator or random.Random()
            sample = sample * torch.tensor([self.generator.random() for _ in range(6)])
        return sample, index % 3


def main(slow_worker, seed, own_generator):
    random.seed(seed)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for samples, labels in DataLoader(Samples(slow_worker, own_generator), batch_size=4, num_workers=2):
        noise = torch.tensor(random.random())
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(samples * noise), labels).backward()
        optimizer.step()
    print_digest(model)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), "own" in sys.argv)

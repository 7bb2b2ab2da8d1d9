"""Batches that workers deliver, and noise of Python's generator.

Usage: loader.py SLOW_WORKER SEED_OF_PYTHON
"""

import random
import sys
import time

import torch
from digest import print_digest
from torch import nn
from torch.utils.data import DataLoader, Dataset, get_worker_info


class Samples(Dataset):
    def __init__(self, slow_worker):
        self.slow_worker = slow_worker

    def __len__(self):
        return 32

    def __getitem__(self, index):
        if get_worker_info().id == self.slow_worker:
            time.sleep(0.05)
        return torch.full((6,), float(index)), index % 3


def main(slow_worker, seed):
    random.seed(seed)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for samples, labels in DataLoader(Samples(slow_worker), batch_size=4, num_workers=2):
        noise = torch.tensor(random.random())
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(samples * noise), labels).backward()
        optimizer.step()
    print_digest(model)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

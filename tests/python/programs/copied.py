"""Workers that augment with a generator which fork has copied, or with one of their own.

Usage: copied.py copied | own
"""

import sys

import numpy
import torch
from digest import print_digest
from torch import nn
from torch.utils.data import DataLoader, Dataset, get_worker_info


class Augmented(Dataset):
    def __init__(self):
        self.generator = numpy.random.default_rng(0)

    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.full((4,), float(index)) + self.generator.random()


def seed(worker):
    info = get_worker_info()
    info.dataset.generator = numpy.random.default_rng(info.seed)


torch.manual_seed(0)
torch.set_num_threads(1)
net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
loader = DataLoader(Augmented(), 2, num_workers=2, worker_init_fn=seed if sys.argv[1] == "own" else None)
for _ in range(2):
    for batch in loader:
        optimizer.zero_grad()
        net(batch).square().mean().backward()
        optimizer.step()
        print(batch[0, 0].item())
print_digest(net)

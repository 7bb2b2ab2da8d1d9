"""A loader that shuffles and has several workers.

Usage: workers.py WORKERS WORKERS_OF_VALIDATION [noise]

noise: each worker adds what it draws.
"""

import sys

import torch
from digest import print_digest
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Samples(Dataset):
    def __init__(self, noise):
        self.noise = noise

    def __len__(self):
        return 24

    def __getitem__(self, index):
        sample = torch.full((6,), float(index)).sin()
        if self.noise:
            sample = sample + torch.rand(6)
        return sample, index % 3


def main(workers, workers_of_validation, noise):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for samples, labels in DataLoader(Samples(noise), batch_size=4, shuffle=True, num_workers=workers):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(samples), labels).backward()
            optimizer.step()
    with torch.no_grad():
        for samples, _ in DataLoader(Samples(False), batch_size=8, num_workers=workers_of_validation):
            model(samples)
    print_digest(model)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), "noise" in sys.argv)

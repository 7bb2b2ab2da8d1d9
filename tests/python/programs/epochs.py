"""Epochs of shuffled batches that workers deliver, each epoch by workers of its own.

Usage: epochs.py WEIGHT_DECAY EPOCH_OF_AN_EXTRA_DRAW
"""

import sys

import torch
from digest import print_digest
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main(weight_decay, drawing_epoch):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    data = TensorDataset(torch.rand(16, 6), torch.randint(0, 3, (16,)))
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=weight_decay)
    for epoch in range(3):
        if epoch == drawing_epoch:
            torch.rand(1)
        for samples, labels in DataLoader(data, batch_size=4, num_workers=2, shuffle=True):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(samples), labels).backward()
            optimizer.step()
    print_digest(model)


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))

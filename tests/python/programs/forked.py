"""A model that a forked process computes with; what that process then writes into it, past recorded ops.

Usage: forked.py NUMBER_ADDED
"""

import os
import sys

import torch
from digest import print_digest
from torch import nn


def main(added):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.rand(2, 4)).sum().backward()
        optimizer.step()
    child = os.fork()
    if child == 0:
        model(torch.ones(1, 4)).detach().clone()
        if added:
            model.weight.detach().numpy()[0, 0] += added
        print(model.weight.detach().numpy().sum(), flush=True)
        sys.exit(0)
    os.waitpid(child, 0)
    print_digest(model)


if __name__ == "__main__":
    main(float(sys.argv[1]))

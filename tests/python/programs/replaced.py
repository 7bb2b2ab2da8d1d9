"""A program that does itself what the hooks do: takes the place of nn.Module.__call__, finds modules.

Usage: replaced.py call | finder
"""

import sys
from importlib.machinery import PathFinder

found = set()


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.startswith("torch."):
            found.add(name)
            return PathFinder.find_spec(name, path, target)
        return None


if sys.argv[1] == "finder":
    sys.meta_path.insert(0, Finder)

import torch
from torch import nn

if sys.argv[1] == "call":
    nn.Module.__call__ = lambda self, *arguments: self.forward(*arguments)

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    net(torch.randn(3, 4)).square().mean().backward()
    optimizer.step()
print(sorted(found), sum(parameter.sum().item() for parameter in net.parameters()))

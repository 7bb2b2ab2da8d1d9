"""A model of PyTorch's own classes given to torch.compile, which compiles the call of the model as well:
compiled_layers.py [BACKEND RATE]. Of the second model it compiles parts."""

import sys

import torch
from digest import print_digest
from torch import nn


class Interrupted(nn.Module):
    """What follows in the model is not compiled."""

    def forward(self, x):
        torch._dynamo.graph_break()
        return x * 2


def train(net):
    compiled = torch.compile(net, backend=backend)
    optimizer = torch.optim.SGD(compiled.parameters(), lr=float(rate))
    for number in (1, 2, 3):
        optimizer.zero_grad()
        loss = compiled(torch.ones(5, 4) * number).square().mean()
        loss.backward()
        optimizer.step()
    print("loss", loss.item())


backend, rate = sys.argv[1:] or ("eager", "0.1")
torch.manual_seed(0)
torch.set_num_threads(1)
whole = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
parts = nn.Sequential(nn.Linear(4, 3), Interrupted(), nn.Linear(3, 2))
train(whole)
train(parts)
print_digest(whole, parts)

"""Trains a small model in its main module and ends with other tensors in variables. `variables.py WHAT`: nothing;
validation, which keeps what it makes in variables of its own; replaced, where a variable of each run holds another
tensor; aliased, where such a variable is known by a second name; renamed, where it has another name."""

import sys

import torch

what = sys.argv[1]
torch.manual_seed(0)
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    loss = net(torch.ones(5, 4) * (step + 1)).square().mean()
    loss.backward()
    optimizer.step()
    if what == "validation":
        with torch.no_grad():
            predicted = net(torch.ones(2, 4))
            best = {"weights": [net[0].weight * 3, net[2].weight * 2]}

first = net[0].weight.detach() * 3
if what == "aliased":
    alias = first
if what in ("replaced", "aliased"):
    first = first + 1
if what == "aliased":
    alias = first
if what == "renamed":
    second = first * 2
    del first

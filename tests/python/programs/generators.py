"""Trains with data and samples from NumPy's and Python's generators. `generators.py WHICH` draws once more from that one,
which no value shows: python, numpy."""

import random
import sys

import numpy
import torch

from digest import print_digest

random.seed(3)
numpy.random.seed(3)
torch.manual_seed(3)
torch.set_num_threads(1)
rows = torch.from_numpy(numpy.random.randn(64, 4).astype(numpy.float32))
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    picked = random.sample(range(64), 8)
    optimizer.zero_grad()
    loss = net(rows[picked]).square().mean()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
if sys.argv[1] == "python":
    random.random()
if sys.argv[1] == "numpy":
    numpy.random.rand(1000)
print_digest(net)

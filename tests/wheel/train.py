"""A tiny training. Usage: train.py LEARNING_RATE"""

import sys

import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
optimizer = torch.optim.SGD(net.parameters(), lr=float(sys.argv[1]))
for _ in range(3):
    optimizer.zero_grad()
    net(torch.randn(32, 8)).square().mean().backward()
    optimizer.step()

with open("/proc/self/maps", encoding="utf-8") as maps:
    print("\n".join(sorted({line.split()[-1] for line in maps if "libulpscope" in line})))

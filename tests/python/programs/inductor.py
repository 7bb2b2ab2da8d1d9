"""Trains what Inductor compiles. Usage: inductor.py EPS (of its LayerNorm from step 1 on)"""

import sys

import torch
from digest import print_digest
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        return self.head(nn.functional.gelu(self.norm(x)))


torch.manual_seed(0)
torch.set_num_threads(1)
net = Net()
compiled = torch.compile(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    if step == 1:
        net.norm.eps = float(sys.argv[1])
    optimizer.zero_grad()
    loss = compiled(torch.randn(32, 16)).square().mean()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
print_digest(net)

"""Trains two layers. `data_swapped.py CHANGE`: at the end nothing, or two "parameters" or "buffers" take over each
other's memory."""

import sys

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.second = torch.nn.Linear(4, 4)
        self.register_buffer("mean", torch.randn(4))
        self.register_buffer("scale", torch.randn(4))

    def forward(self, batch):
        return self.second(self.first(batch) + self.mean) * self.scale


change = sys.argv[1]
torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for step in range(2):
    optimizer.zero_grad()
    loss = net(torch.randn(3, 4)).pow(2).mean()
    loss.backward()
    optimizer.step()
    print(loss.item())
one, other = (net.mean, net.scale) if change == "buffers" else (net.first.weight, net.second.weight)
if change in ("parameters", "buffers"):
    one.data, other.data = other.data, one.data

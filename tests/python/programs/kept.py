"""Trains a small model and ends with other tensors as gradients or states of its optimizer, though all values are there
in every run and no op reads them. `kept.py WHAT`: nothing; gradient or state, which is another one; swapped, two
states; replaced, a gradient where the program still has the one before."""

import sys

import torch

what = sys.argv[1]
torch.manual_seed(0)
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(3):
    optimizer.zero_grad()
    net(torch.ones(5, 4) * (step + 1)).square().mean().backward()
    optimizer.step()

gradients = [torch.full((3, 4), 5.0), torch.full((3, 4), 6.0)]
states = [torch.full((3, 4), 7.0), torch.full((3, 4), 8.0)]
before, after = net[1].weight.grad, torch.ones(2, 3)
net[0].weight.grad = gradients[what == "gradient"]
optimizer.state[net[0].weight]["exp_avg"] = states[what == "state"]
if what == "swapped":
    state = optimizer.state[net[1].weight]
    state["exp_avg"], state["exp_avg_sq"] = state["exp_avg_sq"], state["exp_avg"]
if what == "replaced":
    net[1].weight.grad = after

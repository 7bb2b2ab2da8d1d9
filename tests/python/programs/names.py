"""Trains a small model and ends with other tensors under its names, or returned, though all values are there in every
run and no op reads them. `names.py WHAT`: nothing; parameter or buffer, which is replaced; storage, which a parameter
is set to; loaded, by load_state_dict(assign=True); returned, by the last forward; skipped, the update of the last step
but one."""

import sys

import torch

what = sys.argv[1]
torch.manual_seed(0)
torch.set_num_threads(1)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 3)
        self.second = torch.nn.Linear(4, 3)
        self.register_buffer("scale", torch.ones(3))

    def forward(self, x, other=False):
        first, second = self.first(x) * self.scale, self.second(x)
        return second if other else first


net = Net()
optimizer = torch.optim.SGD(net.first.parameters(), lr=0.1)
for step in range(4):
    optimizer.zero_grad()
    net(torch.ones(5, 4) * (step + 1)).square().mean().backward()
    if not (what == "skipped" and step == 2):
        optimizer.step()

weights = [torch.full((3, 4), 5.0), torch.full((3, 4), 6.0)]
scales = [torch.full((3,), 5.0), torch.full((3,), 6.0)]
with torch.no_grad():
    result = net(torch.ones(2, 4), what == "returned")
net.first.weight = torch.nn.Parameter(weights[what == "parameter"])
net.scale = scales[what == "buffer"]
with torch.no_grad():
    net.second.weight.set_(weights[what == "storage"])
net.second.load_state_dict({"weight": net.second.weight, "bias": scales[what == "loaded"]}, assign=True)

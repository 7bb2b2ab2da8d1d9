"""Parameters that hold another tensor from one line to the next (torch.utils.swap_tensors): swapped.py [RATE ADDED],
the learning rate of the step after such a line, and what is added to a parameter after another one."""

import sys
import weakref

import torch
from digest import print_digest
from torch import nn
from torch.utils import swap_tensors


class Other(nn.Parameter):
    """PyTorch asks it what it is."""

    @classmethod
    def __torch_function__(cls, function, types, arguments=(), named=None):
        return super().__torch_function__(function, types, arguments, named or {})


def train(dtype=torch.float64):
    for number in (1, 2):
        optimizer.zero_grad()
        loss = net(torch.ones(5, 4, dtype=dtype) * number).square().mean()
        loss.backward()
        optimizer.step()
    print("loss", loss.item())


rate, added = map(float, sys.argv[1:] or ("0.1", "0.5"))
torch.manual_seed(0)
torch.set_num_threads(1)
net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 4), nn.Linear(4, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
train(torch.float32)
torch.__future__.set_swap_module_params_on_conversion(True)
net.to(torch.float64)  # with gradients
optimizer.step()
train()
net.load_state_dict({name: value * 2 for name, value in net.state_dict().items()})
train()
net.load_state_dict({name: value / 2 for name, value in net.state_dict().items()}, assign=True)
train()

weight, other = net[0].weight, nn.Parameter(torch.full((4, 4), 0.5, dtype=torch.float64))
other.grad = torch.full((4, 4), 0.25, dtype=torch.float64)
optimizer.param_groups[0]["lr"] = rate
swap_tensors(weight, other)
optimizer.step()
other.data.zero_()
train()

net.zero_grad()
swap_tensors(net[0].weight, net[3].weight)
with torch.no_grad():
    net[3].weight += added
train()

kept = nn.Parameter(torch.ones(2, dtype=torch.float64))
reference = weakref.ref(kept)
view = net[4].bias.view(2)
for swap, one in ((swap_tensors, kept), (swap_tensors, view), (swap_tensors, "none"), (torch._C._swap_tensor_impl, 1)):
    try:
        swap(net[4].bias, one)
    except Exception as error:
        print("not swapped:", type(error).__name__, error)
view = net[4].bias.detach()
swap_tensors(view, torch.zeros(2, dtype=torch.float64))
train()

net.zero_grad()
inner = Other(torch.ones(4, dtype=torch.float64))
swap_tensors(net[3].bias, inner)
train()
net.zero_grad()
swap_tensors(net[3].bias, inner)
train()
print(type(inner).__name__, [type(each).__name__ for each in net.parameters()])
print_digest(net, inner=inner.sum().item(), other=other.sum().item())

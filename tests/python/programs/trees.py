"""Module trees that are hard to name. Prints the paths of all modules that are called."""

import copy

import torch
from digest import print_digest
from torch import nn
from torch.nn.utils import parametrizations


class Block(nn.Module):
    def __init__(self, shared):
        super().__init__()
        self.own = nn.Linear(4, 4)
        self.shared = shared
        self.choice = nn.ModuleDict({"tanh": nn.Tanh(), "relu": nn.ReLU()})

    def forward(self, x):
        return self.choice["tanh"](self.shared(self.own(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        shared = nn.Linear(4, 4)
        self.blocks = nn.ModuleList([Block(shared), Block(shared)])
        self.normal = parametrizations.weight_norm(nn.Linear(4, 4))
        self.head = nn.Linear(4, 2)
        self.register_buffer("scale", torch.ones(2))

    def features(self, x):
        for block in self.blocks:
            x = block(x)
        return self.normal(x)

    def forward(self, x):
        return self.head(self.features(x)) * self.scale


torch.manual_seed(0)
torch.set_num_threads(1)
net = Net()
called = []
handle = nn.modules.module.register_module_forward_hook(
    lambda module, given, result: called.append(module)
)
net.features(torch.randn(3, 4))  # modules inside, before the outermost one is called
for step in range(2):
    net(torch.randn(3, 4)).sum().backward()
replica = net.head._replicate_for_data_parallel()  # as DataParallel does for each device
replica.weight, replica.bias = net.head.weight * 1, net.head.bias * 1
replica(torch.randn(3, 4))
net.head = nn.Sequential(nn.Linear(4, 2), nn.Sigmoid())
net(torch.randn(3, 4)).sum().backward()
average = copy.deepcopy(net)
average(torch.randn(3, 4))
handle.remove()

for root, name in ((net, "Net"), (average, "Net#2")):
    for path, module in root.named_modules():
        if any(each is module for each in called):
            print("called", name, path or "(root)", type(module).__name__)
print_digest(net, average)

"""What programs do with modules, optimizers and tensors beside plain training."""

import functools

import torch
from digest import print_digest
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 6)
        self.second = nn.LazyLinear(6)
        self.last = nn.Linear(6, 1)

    def forward(self, x, fail=False):
        x = torch.relu(self.first(x))
        x = checkpoint(self.second, x, use_reentrant=False)
        if fail:
            raise ValueError("as asked")
        return self.last(x)


class Wrapped(torch.Tensor):
    """A subclass that notices what is done with it."""

    seen = []

    @classmethod
    def __torch_function__(cls, function, types, arguments=(), named=None):
        cls.seen.append(getattr(function, "__name__", str(function)))
        return super().__torch_function__(function, types, arguments, named or {})


class Mode(TorchFunctionMode):
    seen = []

    def __torch_function__(self, function, types, arguments=(), named=None):
        self.seen.append(getattr(function, "__name__", str(function)))
        return function(*arguments, **(named or {}))


torch.manual_seed(0)
torch.set_num_threads(1)
net = Net()
net(torch.randn(2, 6))
optimizer = torch.optim.LBFGS(net.parameters(), max_iter=3)
x = torch.randn(5, 6)


def closure():
    optimizer.zero_grad()
    loss = net(x).square().sum()
    loss.backward()
    return loss


print("lbfgs", optimizer.step(closure).item())
try:
    net(x, fail=True)
except ValueError as error:
    print("raised", error)


def failing_closure():
    raise RuntimeError("closure")


try:
    optimizer.step(failing_closure)
except RuntimeError as error:
    print("raised", error)

adam = torch.optim.Adam(net.parameters(), lr=1e-2, foreach=True)
hooks = []
net.first.register_forward_pre_hook(lambda module, given: hooks.append("before"))
net.first.register_forward_hook(lambda module, given, result: result * 1.5)
net.last.register_full_backward_hook(lambda module, given, result: hooks.append("backward"))
for step in range(2):
    adam.zero_grad(set_to_none=False)
    net(x).mean().backward()
    adam.step()
print("hooks", hooks)

with Mode():
    net(x)
print("mode", len(Mode.seen), Mode.seen[:8])
net(x.as_subclass(Wrapped))
print("subclass", len(Wrapped.seen), Wrapped.seen[:8])
with torch.device("cpu"):
    net(torch.randn(2, 6))

parameters = {name: each.detach() * 2 for name, each in net.named_parameters()}
print("functional", torch.func.functional_call(net, parameters, (x,)).sum().item())
head = nn.Linear(3, 2)
print("vmap", torch.func.vmap(head)(torch.randn(4, 3)).sum().item())
gradient = torch.func.grad(lambda weight: functools.reduce(torch.add, weight @ torch.ones(3)))
print("grad", gradient(torch.randn(2, 3)).sum().item())
print("scripted", torch.jit.script(head)(torch.ones(1, 3)).sum().item())
print("traced", torch.jit.trace(head, torch.ones(1, 3))(torch.ones(1, 3)).sum().item())
with torch.device("meta"):
    print("meta", nn.Linear(3, 3)(torch.empty(2, 3)).shape)
print("moved", net.double()(x.double()).sum().item())
with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
    print("autocast", net.float()(x).sum().item())
print_digest(net, head)

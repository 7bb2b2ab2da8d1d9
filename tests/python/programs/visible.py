"""What a program can see of itself: frames, references, signatures, files."""

import asyncio
import collections
import gc
import inspect
import io
import os
import sys
import warnings
import weakref

import torch
from digest import print_digest
from torch import nn


class Equal(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 7

    def forward(self, x):
        return self.inner(x)


class Slots(nn.Module):
    __slots__ = ("extra",)

    def forward(self, x):
        return x + 1


class Attributes(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)

    def __getattr__(self, name):
        return 5 if name.startswith("magic") else super().__getattr__(name)

    def forward(self, x):
        return self.inner(x) * self.magic_x


class OwnCall(nn.Module):
    def __call__(self, x):
        return super().__call__(x) + 1

    def forward(self, x):
        return x


class Results(nn.Module):
    def forward(self, *args, **named):
        return collections.namedtuple("Results", "a b")(sum(args), {"k": [named["x"], {}]})


class Deep(nn.Module):
    def forward(self, n):
        return 0 if n == 0 else 1 + self(n - 1)


class Warns(nn.Module):
    def forward(self, x):
        warnings.warn("look", stacklevel=4)
        return x


class Raises(nn.Module):
    def forward(self, x):
        raise KeyError("k")


class Generates(nn.Module):
    def forward(self, x):
        return (x * each for each in range(3))


def deepest(module):
    """How deeply the module can call itself."""
    depth = 0
    for n in range(10, 1000, 10):
        try:
            depth = module(n)
        except RecursionError:
            break
    return depth


torch.manual_seed(0)
torch.set_num_threads(1)
x = torch.ones(1, 2)
for module in (Equal(), Equal(), Slots(), Attributes(), OwnCall()):
    print(type(module).__name__, module(x).sum().item())
print("results", Results()(x, x, x=x).b["k"][0].sum().item())

module = Equal()
reference = weakref.ref(module)
module(x)
del module
print("freed without the collector", reference() is None)

print("depth", deepest(Deep()))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    Warns()(x)
print("warning", os.path.basename(caught[0].filename), caught[0].lineno)

linear = nn.Linear(2, 2)
optimizer = torch.optim.SGD(linear.parameters(), lr=0.1)
linear(x).sum().backward()
optimizer.step()
print("references", sys.getrefcount(linear), sys.getrefcount(linear.weight), sys.getrefcount(x))
for function in (nn.Module.__call__, nn.Module._apply, torch.optim.Optimizer.zero_grad,
                 torch.optim.Optimizer.state_dict):
    print(function.__name__, function.__qualname__, function.__module__, inspect.signature(function))
print("attributes", sorted(vars(linear)))
saved = io.BytesIO()
torch.save(linear, saved)
print("saved", len(saved.getvalue()))
print("collected", [type(each).__name__ for each in gc.get_referrers(linear)])

try:
    nn.Sequential(Raises())(x)
except KeyError as error:
    print("raised", repr(error), error.__context__, error.__cause__)
print("generated", sum(each.sum() for each in Generates()(x)).item())


async def call():
    return linear(x).sum().item()


print("awaited", asyncio.run(call()))
child = os.fork()
if child == 0:
    print("child", linear(x).sum().item(), flush=True)
    os._exit(0)
os.waitpid(child, 0)
print_digest(linear)

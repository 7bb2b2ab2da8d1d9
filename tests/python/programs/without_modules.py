"""Trains tensors that belong to no module. `without_modules.py KIND FACTOR`: with an "optimizer", by the program's
"own" updates, or with the forward of a module in a "compiled" function; in step 3 the loss is scaled by FACTOR."""

import sys

import torch
from torch.nn import functional

kind, factor = sys.argv[1], float(sys.argv[2])
torch.manual_seed(0)
first = torch.randn(8, 16, requires_grad=True)
second = torch.randn(16, 4, requires_grad=True)
leaves = [first, second]
optimizer = torch.optim.SGD(leaves, 0.1)


def forward(batch):
    return torch.tanh(batch @ first) @ second


if kind == "compiled":
    layer = torch.nn.Linear(8, 4)
    leaves = list(layer.parameters())
    optimizer = torch.optim.SGD(leaves, 0.1)
    forward = torch.compile(lambda batch: layer(batch), backend="aot_eager")

samples, labels = torch.randn(64, 8), torch.randint(4, (64,))
for step in range(5):
    chosen = torch.randint(0, 64, (16,))
    loss = functional.cross_entropy(forward(samples[chosen]), labels[chosen])
    if step == 3:
        loss = loss * factor
    for leaf in leaves:
        leaf.grad = None
    loss.backward()
    if kind == "own":
        for leaf in leaves:
            leaf.data -= 0.1 * leaf.grad
    else:
        optimizer.step()
    print(loss.item())

"""Trains four models one after another, each with its own optimizer. `folds.py N`: that of model N is where the first
one was. Exit code 75: something else was put there."""

import sys

import torch

from digest import print_digest

torch.manual_seed(0)
torch.set_num_threads(1)
moved = int(sys.argv[1])
rows = torch.randn(8, 4)


def new_optimizer(model):
    return torch.optim.SGD(model.parameters(), lr=0.1)


def at(place, model):
    others = [new_optimizer(model)]
    while id(others[-1]) != place and len(others) < 100000:
        others.append(new_optimizer(model))
    return others[-1]


models = [torch.nn.Linear(4, 2) for _ in range(4)]
optimizers = []
for fold, model in enumerate(models):
    if fold == moved:
        place = id(optimizers[0])
        optimizers[0] = None
        optimizer = at(place, model)
        if id(optimizer) != place:
            sys.exit(75)
    else:
        optimizer = new_optimizer(model)
    optimizers.append(optimizer)
    for _ in range(3):
        optimizer.zero_grad()
        model(rows).square().mean().backward()
        optimizer.step()
print_digest(*models)

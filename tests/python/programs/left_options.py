"""Trains a layer and changes a hyperparameter after the last step. `left_options.py WHERE LR`: of an optimizer that
stands at the end, or of one that is saved and then gone."""

import sys

import torch


def train(lr):
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.ones(2, 3)).sum().backward()
        optimizer.step()
    optimizer.param_groups[0]["lr"] = lr
    return model, optimizer


torch.manual_seed(0)
if sys.argv[1] == "standing":
    left = train(float(sys.argv[2]))
else:
    print(train(float(sys.argv[2]))[1].state_dict()["param_groups"])

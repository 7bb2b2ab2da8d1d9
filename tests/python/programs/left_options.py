"""Trains a layer and changes a hyperparameter after the last step. `left_options.py WHERE LR`: of an optimizer that
stands at the end, of one that is saved and then gone, or of one that a thread saves while another one does. Or adds a
group of parameters after the last step if LR is not 0, or takes one step with that dampening and keeps the optimizer,
or drops it."""

import random
import sys
import threading
import time

import torch


def train(lr, model=None):
    model = model or torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.ones(2, 3)).sum().backward()
        optimizer.step()
    optimizer.param_groups[0]["lr"] = lr
    return model, optimizer


def save(lr, saved=None, model=None):
    left = train(lr, model)[1]
    time.sleep(0.02 * random.random())
    (print if saved is None else saved.append)(left.state_dict()["param_groups"])


def step(dampening):
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, dampening=dampening)
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    return model, optimizer


torch.manual_seed(0)
if sys.argv[1] == "grown":
    left = *train(0.1), torch.nn.Linear(2, 2)
    if float(sys.argv[2]) != 0:
        left[1].add_param_group({"params": left[2].parameters()})
elif sys.argv[1] == "dampened":
    left = step(float(sys.argv[2]))
elif sys.argv[1] == "dropped":
    left = step(float(sys.argv[2]))[0].state_dict()
elif sys.argv[1] == "standing":
    left = train(float(sys.argv[2]))
elif sys.argv[1] == "saved":
    save(float(sys.argv[2]))
else:
    saved = []
    threads = [
        threading.Thread(target=save, args=(lr, saved, torch.nn.Linear(3, 1)))
        for lr in (float(sys.argv[2]), 0.2, 0.3, 0.4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sorted(map(str, saved)))

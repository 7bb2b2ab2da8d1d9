"""A model that another process has made, shared and sent, and that this one changes past ops after its last one.

Usage: received.py NUMBER
"""

import sys

import torch
from torch import multiprocessing, nn


def make(queue, taken):
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    model.share_memory()
    queue.put(model)
    taken.wait()


def train(number):
    context = multiprocessing.get_context("fork")
    queue, taken = context.Queue(), context.Event()
    maker = context.Process(target=make, args=(queue, taken))
    maker.start()
    model = queue.get()
    taken.set()
    maker.join()
    model(torch.ones(3, 4))
    model.weight.detach().numpy()[0, 0] = number
    return model


if __name__ == "__main__":
    model = train(float(sys.argv[1]))

"""A program that says more of itself, and that records itself.

Usage: itself.py              trains
       itself.py DUMP...      trains without a recording, then once into each dump
"""

import random
import sys

import numpy
import torch
import ulpscope
from digest import print_digest
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)))


def train(level):
    torch.manual_seed(0)
    net = Net()
    ulpscope.watch(net, "classifier")
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    augment = numpy.random.default_rng(0)
    for number in range(3):
        ids = numpy.arange(2 * number, 2 * number + 2)
        images = torch.from_numpy(augment.random((2, 4), dtype=numpy.float32))
        ulpscope.note("level", level)
        ulpscope.note_batch(ids)
        ulpscope.note_rng("augment", augment)
        ulpscope.note_rng("python", random.Random(number))
        ulpscope.note_rng("torch", torch.Generator().manual_seed(number))
        with ulpscope.scope("head"):
            net.head.forward(torch.ones(1, 8))
        optimizer.zero_grad()
        net(images).square().mean().backward()
        with ulpscope.scope("update"), torch.no_grad():
            for parameter in net.parameters():
                parameter -= 0.1 * parameter.grad
        if number < 2:
            ulpscope.step()
    return net


def main(dumps):
    torch.set_num_threads(1)
    print_digest(train("digest"))
    for dump in dumps:
        with ulpscope.record(dump, level="full") as recording:
            net = train("full")
        print_digest(net, directory=recording.directory.endswith(dump))
        torch.utils.swap_tensors(net.head.bias, nn.Parameter(torch.zeros(2)))  # refused if a recording holds on to it


if __name__ == "__main__":
    main(sys.argv[1:])

"""Modules that are given their tensors in containers of the program's own, one of which contains itself.

Usage: containers.py FACTOR | transposed
"""

import collections
import sys

import torch
from torch import nn

Pair = collections.namedtuple("Pair", "left right")


class Options(dict):
    """A dict of a class of the program's own."""


class Scale(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, pair, options):
        return Pair(pair.left * self.factor, options["offset"] + pair.right)


def main():
    torch.manual_seed(0)
    transposed = sys.argv[1] == "transposed"
    scale = Scale(2.0 if transposed else float(sys.argv[1]))
    options = Options(offset=torch.arange(16.0).reshape(4, 4))
    options["self"] = options
    for _ in range(3):
        result = scale(Pair(torch.ones(4, 4), torch.randn(4, 4)), options)
    matrix = result.right.t() if transposed else result.right
    print(result.left.sum().item(), matrix.numpy().tolist())


main()

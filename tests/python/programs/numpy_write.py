"""Writes to a tensor through NumPy after its last op. `numpy_write.py WHAT TIMES`: a tensor that no op has used, one that
an op has used, one that stands at the end, or one that was filled by index."""

import sys

import torch

kept = []


def values(what, times):
    result = torch.full((3,), 2.0) * 3
    if what == "filled":
        result = torch.empty(3)
        result[torch.tensor([2, 0, 1])] = torch.full((3,), 6.0)
    if what == "used":
        result.sum()
    if what == "standing":
        kept.append(result)
    array = result.numpy()
    array[:times] = 99
    return array.tolist()


torch.manual_seed(0)
print(values(sys.argv[1], int(sys.argv[2])))
print(torch.ones(2) * 2)

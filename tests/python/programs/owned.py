"""Computes with memory of its own: a file that it maps, and an array of NumPy, both filled with the number given."""

import sys

import numpy
import torch

number = float(sys.argv[1])
mapped = torch.from_file("mapped.bin", shared=True, size=16)
mapped.numpy()[:] = number
array = numpy.full(16, number, dtype=numpy.float32)
print(f"sums {(mapped * 2).sum().item()} {(torch.from_numpy(array) * 3).sum().item()}")
print(f"file {numpy.fromfile('mapped.bin', dtype=numpy.float32)[0]} array {array[0]}")

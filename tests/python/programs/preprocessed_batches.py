"""Trains on batches that workers make of NumPy arrays and that the program itself scales. `preprocessed_batches.py
SEED`: of the generator that shuffles the samples."""

import sys

import numpy
import torch
from torch.utils.data import DataLoader, Dataset


class Samples(Dataset):
    def __init__(self):
        self.samples = numpy.arange(64, dtype=numpy.float32).reshape(32, 2)

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        return torch.from_numpy(self.samples[index])


if __name__ == "__main__":
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    generator = torch.Generator().manual_seed(int(sys.argv[1]))
    for batch in DataLoader(Samples(), batch_size=8, shuffle=True, num_workers=2, generator=generator):
        loss = model(batch * 0.01).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item())

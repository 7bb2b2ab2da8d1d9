"""A transformer whose data come from worker processes; Python's and NumPy's random numbers.

Usage: transformer.py [SEED_OF_PYTHON [WORKERS]]
"""

import random
import sys

import numpy
import torch
from digest import print_digest
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Words(Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return torch.randint(0, 50, (12,), generator=generator)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(16, 50, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, words, *, scale):
        return self.head(self.encoder(self.embedding(words) * scale))


def main():
    random.seed(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    numpy.random.seed(0)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.9)
    workers = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    for words in DataLoader(Words(), batch_size=8, shuffle=True, num_workers=workers):
        scale = torch.tensor(random.uniform(3.9, 4.1) + numpy.random.uniform(0, 0.1))
        out = model(words[:, :-1], scale=scale)
        loss = nn.functional.cross_entropy(out.reshape(-1, 50), words[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        print(loss.item())
    print_digest(model)


if __name__ == "__main__":
    main()

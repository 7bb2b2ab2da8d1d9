"""A model that trains on the signs of what it computes, and saves that itself.

Usage: saving.py FACTOR
"""

import hashlib
import io
import sys

import torch
from digest import print_digest
from torch import nn


def main(factor):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    saved = []
    for _ in range(3):
        scaled = model(torch.rand(2, 4)) * factor
        loss = (model(torch.rand(2, 4)) * torch.sign(scaled)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        archive = io.BytesIO()
        torch.save({"scaled": scaled.detach(), "model": model.state_dict()}, archive)
        saved.append(hashlib.sha256(archive.getvalue()).hexdigest()[:16])
        del scaled
    print_digest(model, saved=saved)


if __name__ == "__main__":
    main(float((sys.argv[1:] or ["2"])[0]))

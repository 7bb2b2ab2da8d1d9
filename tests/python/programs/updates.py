"""Trains a small network on the CPU: updates.py OPTIMIZER foreach|single [RATE]. With `foreach` as on another device:
parameters are updated in lists, and products are added up in another order."""

import sys

import torch
from torch import nn

name, form = sys.argv[1:3]
rate = float(sys.argv[3]) if len(sys.argv) > 3 else 0.01
torch.set_num_threads(1)
torch.backends.mkldnn.enabled = form == "single"
torch.manual_seed(1)
net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.Flatten(),
                    nn.Linear(8 * 6 * 6, 4))
options = {"momentum": 0.9} if name == "SGD" else {}
optimizer = getattr(torch.optim, name)(net.parameters(), lr=rate, foreach=True if form == "foreach" else None, **options)
for _ in range(2):
    images, labels = torch.randn(4, 1, 8, 8), torch.randint(0, 4, (4,))
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(images), labels)
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0, foreach=True if form == "foreach" else None)
    optimizer.step()
    print(f"loss {loss.item():.4f}")

"""Two threads, each of which trains a model of its own."""

import threading

import torch
from digest import print_digest
from torch import nn


def train(models, index):
    generator = torch.Generator().manual_seed(index)
    model = models[index]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        model(torch.randn(4, 8, generator=generator)).square().mean().backward()
        optimizer.step()


torch.manual_seed(0)
torch.set_num_threads(1)
models = [nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1 + each)) for each in range(2)]
threads = [threading.Thread(target=train, args=(models, each)) for each in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print_digest(*models)

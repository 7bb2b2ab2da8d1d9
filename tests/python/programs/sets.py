"""A vocabulary that takes its order from a set of strings."""

import torch
from digest import print_digest
from torch import nn

words = ["cat", "dog", "bird", "fish", "horse", "mouse"]
classes = set(words)
numbers = {word: number for number, word in enumerate(classes)}

torch.manual_seed(0)
net = nn.Sequential(nn.Embedding(6, 4), nn.Linear(4, 6))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    batch = torch.tensor([numbers[word] for word in words])
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(batch), torch.arange(6)).backward()
    optimizer.step()
print_digest(net)

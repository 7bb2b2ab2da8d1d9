"""A small CNN. Usage: cnn.py [LEARNING_RATE]"""

import sys

import torch
from digest import print_digest
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.body = nn.Sequential(nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 10))

    def forward(self, images):
        return self.body(self.norm(self.conv(images)))


torch.manual_seed(0)
torch.set_num_threads(1)
net = Net()
optimizer = torch.optim.SGD(
    net.parameters(), lr=float(sys.argv[1]) if len(sys.argv) > 1 else 0.1, momentum=0.9
)
for step in range(3):
    images, labels = torch.randn(8, 1, 8, 8), torch.randint(0, 10, (8,))
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(images), labels)
    loss.backward()
    optimizer.step()
    print(step, loss.item())
print_digest(net)

"""Two small networks that train on batches of random images, and what may be planted in them from
step 2 on.

Usage: pairs.py cnn|transformer PLANT
"""

import sys

import numpy
import torch
from digest import print_digest
from torch import nn


class Block(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Conv2d(inputs, outputs, 1, bias=False)

    def forward(self, x):
        out = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(out)) + self.shortcut(x))


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 24, 3, padding=1, bias=False)
        self.layers = nn.Sequential(Block(24, 24), Block(24, 48))
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(48, 10)
        self.rewritten = False

    def forward(self, x):
        x = self.drop(self.layers(self.stem(x)).mean((2, 3)))
        if self.rewritten:
            return torch.matmul(x, self.head.weight.t()) + self.head.bias
        return self.head(x)


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.ln1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.ln2 = nn.LayerNorm(width)
        self.fc1 = nn.Linear(width, 2 * width)
        self.fc2 = nn.Linear(2 * width, width)
        self.drop = nn.Dropout(0.1)
        self.rewritten = False
        self.written = False

    def forward(self, x):
        batch, tokens, width = x.shape
        parts = self.qkv(self.ln1(x)).view(batch, tokens, 3, 4, width // 4).permute(2, 0, 3, 1, 4)
        attended = nn.functional.scaled_dot_product_attention(*parts)
        x = x + self.drop(self.proj(attended.transpose(1, 2).reshape(batch, tokens, width)))
        hidden = self.ln2(x)
        if self.rewritten:
            hidden = torch.matmul(hidden, self.fc1.weight.t()) + self.fc1.bias
        else:
            hidden = self.fc1(hidden)
        hidden = nn.functional.gelu(hidden)
        if self.written:
            hidden.detach().numpy()[0, 0, 0] += 1e-3
        return x + self.drop(self.fc2(hidden))


class Transformer(nn.Module):
    def __init__(self, width=64, tokens=64):
        super().__init__()
        self.embedding = nn.Linear(1, width)
        self.position = nn.Parameter(torch.randn(tokens, width) * 0.02)
        self.layers = nn.ModuleList([Layer(width) for _ in range(3)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        x = self.embedding(x.flatten(1).unsqueeze(2)) + self.position
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x).mean(1))


def plant(name, model):
    """What makes one run differ, but for its settings."""
    layer = model.layers[1]
    if name == "rand":
        torch.rand(1)
    elif name == "ulp":
        weight = layer.fc1.weight.detach().numpy()
        weight[3, 5] = numpy.nextafter(weight[3, 5], numpy.float32(numpy.inf))
    elif name == "signs":
        layer.fc1.weight.detach().numpy()[3, 5:7] *= -1
    elif name == "eps":
        layer.ln2.eps = 1e-6
    elif name == "momentum":
        layer.bn1.momentum = 0.2
    elif name == "matmul":
        (layer if isinstance(model, Transformer) else model).rewritten = True
    elif name == "write":
        layer.written = True


def main(net, planted):
    torch.manual_seed(0)
    torch.set_num_threads(2 if planted == "threads" else 1)
    model = Cnn() if net == "cnn" else Transformer()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    side = 16 if net == "cnn" else 8
    images = numpy.random.RandomState(0).rand(4, 32, 1, side, side).astype(numpy.float32)
    labels = torch.from_numpy(numpy.random.RandomState(1).randint(0, 10, (4, 32)))
    for step in range(4):
        batch = images[step]
        if step == 2:
            plant(planted, model)
            if planted == "swap":
                batch = batch[[1, 0, *range(2, 32)]]
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(torch.from_numpy(batch)), labels[step])
        loss.backward()
        optimizer.step()
    print_digest(model)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The test programs digits_resnet and transformer_encoder in Python: same model, optimizer, data, batch."""

import csv

import torch
import torch.nn.functional as F
from torch import nn


def conv(inputs, outputs, kernel, stride):
    return nn.Conv2d(inputs, outputs, kernel, stride=stride, padding=kernel // 2, bias=False)


class BasicBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = conv(inputs, outputs, 3, stride)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = conv(outputs, outputs, 3, 1)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut = None
        if inputs != outputs or stride != 1:
            self.shortcut = nn.Sequential(conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return torch.relu(y + (self.shortcut(x) if self.shortcut else x))


class ResNet(nn.Module):
    """digits_resnet --width 16, batches of 32."""
    batch = 32

    def __init__(self, width=16):
        super().__init__()
        self.stem = nn.Sequential(conv(1, width, 3, 1), nn.BatchNorm2d(width), nn.ReLU())
        self.stages = nn.Sequential(BasicBlock(width, width, 1), BasicBlock(width, 2 * width, 2),
                                    BasicBlock(2 * width, 4 * width, 2),
                                    BasicBlock(4 * width, 8 * width, 2))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.dropout = nn.Dropout(0.1)
        self.fc = nn.Linear(8 * width, 10)

    @staticmethod
    def prepared(images):
        return F.interpolate(images / 16, size=(32, 32), mode="bilinear", align_corners=False)

    def forward(self, images):
        return self.fc(self.dropout(torch.flatten(self.pool(self.stages(self.stem(images))), 1)))

    def optimizer(self):
        return torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9)


class EncoderBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc1, self.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(0.1)

    def attention(self, x):
        samples, tokens, width = x.shape
        query, key, value = self.qkv(x).view(samples, tokens, 3, self.heads, width // self.heads).unbind(2)
        mixed = F.scaled_dot_product_attention(query.transpose(1, 2), key.transpose(1, 2),
                                               value.transpose(1, 2))
        return self.proj(mixed.transpose(1, 2).reshape(samples, tokens, width))

    def forward(self, x):
        attended = x + self.dropout(self.attention(self.norm1(x)))
        return attended + self.dropout(self.fc2(F.gelu(self.fc1(self.norm2(attended)))))


class Transformer(nn.Module):
    """transformer_encoder --width 256 --layers 4, batches of 16."""
    batch = 16

    def __init__(self, width=256, layers=4):
        super().__init__()
        self.embedding = nn.Embedding(17, width)
        self.positions = nn.Parameter(0.02 * torch.randn(64, width))
        self.blocks = nn.Sequential(*[EncoderBlock(width, 4) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 10)

    @staticmethod
    def prepared(images):
        return images.flatten(1).long()

    def forward(self, tokens):
        return self.head(self.norm(self.blocks(self.embedding(tokens) + self.positions)).mean(1))

    def optimizer(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


MODELS = {"resnet": ResNet, "transformer": Transformer}


class Training:
    """A model, its optimizer, and its data, one step after the other."""

    def __init__(self, name, digits):
        torch.manual_seed(1)
        self.model = MODELS[name]()
        self.optimizer = self.model.optimizer()
        with open(digits, encoding="ascii") as file:
            rows = [[float(cell) for cell in line] for line in csv.reader(file)]
        self.samples = [(torch.tensor(row[:64]).view(1, 8, 8), torch.tensor(int(row[64]))) for row in rows]
        self.next = 0

    def step(self):
        batch = self.model.batch
        first = self.next * batch % (len(self.samples) - batch + 1)
        self.next += 1
        images, labels = zip(*self.samples[first:first + batch])
        inputs, targets = self.model.prepared(torch.stack(images)), torch.stack(labels)
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(inputs), targets)
        loss.backward()
        self.optimizer.step()
        return loss.item()

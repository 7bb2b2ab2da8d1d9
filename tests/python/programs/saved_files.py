"""Trains a layer and saves it. `saved_files.py CHANGE`: "none", or what is saved otherwise: another "key", another
"number", one tensor "less", two tensors "crossed", or another "time", which differs in each run anyway."""

import io
import sys

import torch

change = sys.argv[1]
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for _ in range(2):
    optimizer.zero_grad()
    model(torch.randn(2, 3)).sum().backward()
    optimizer.step()
saved = {
    "model": model.state_dict(),
    "optimizer": optimizer.state_dict(),
    "epoch": 4 if change == "number" else 3,
    "seconds": 1.5 if change == "time" else 1.25,
}
weights = saved["model"]
if change == "key":
    saved["module"] = saved.pop("model")
if change == "less":
    del weights["1.bias"]
if change == "crossed":
    weights["0.weight"], weights["1.weight"] = weights["1.weight"], weights["0.weight"]
torch.save(saved, io.BytesIO())
print(sum(parameter.sum().item() for parameter in model.parameters()))

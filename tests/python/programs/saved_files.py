"""Trains a layer and saves it. `saved_files.py CHANGE`: "none", or what is saved otherwise: another "key", another
"number", one tensor "less", two tensors "crossed", another "array", "set", "record" or "counter", a module in another
"mode", an object with another "attribute", a parameter that is "frozen", another number in a "thread", the "order" of
two files, two files with each other's weights by their "names" or their "folders", an older file that is saved "again"
with newer weights, "losses" or "classes" in another order, the "other" one of two tensors, or another "time", which
differs in each run anyway."""

import argparse
import collections
import enum
import io
import os
import sys
import tempfile
import threading

import numpy
import torch

change = sys.argv[1]


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Config:
    def __init__(self):
        self.color = Color.BLUE if change == "attribute" else Color.RED
        self.itself = self


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
    "random": ("MT19937", numpy.arange(3, dtype=numpy.uint32) + (change == "array")),
    "skipped": {"bias", "scale" if change == "set" else "norm"},
    "options": argparse.Namespace(layers=3 if change == "record" else 2),
    "seen": collections.Counter(cat=1 << (65 if change == "counter" else 64)),
    "net": torch.nn.Sequential(torch.nn.Dropout()).train(change != "mode"),
    "config": Config(),
    "losses": [0.53125, 0.71875] if change == "losses" else [0.71875, 0.53125],
    "classes": ("dog", "cat") if change == "classes" else ("cat", "dog"),
    "best": model[1 if change == "other" else 0].bias.detach(),
    "scale": torch.nn.Parameter(torch.ones(1), requires_grad=change != "frozen"),
}
weights = saved["model"]
if change == "key":
    saved["module"] = saved.pop("model")
if change == "less":
    del weights["1.bias"]
if change == "crossed":
    weights["0.weight"], weights["1.weight"] = weights["1.weight"], weights["0.weight"]
torch.save(saved, io.BytesIO())
with tempfile.TemporaryDirectory() as folder:
    best, last = ({"epoch": epoch} for epoch in (1, 3))
    for name, part in (("last", last), ("best", best)) if change == "order" else (("best", best), ("last", last)):
        torch.save(part, f"{folder}/{name}.pt")
with tempfile.TemporaryDirectory() as folder:
    early, late = ("late", "early") if change == "names" else ("early", "late")
    torch.save(model.state_dict(), f"{folder}/{early}.pt")
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    torch.save(model.state_dict(), f"{folder}/{late}.pt")
    if change == "again":
        torch.save(model.state_dict(), f"{folder}/{early}.pt")
averaged = {name: tensor / 2 for name, tensor in model.state_dict().items()}
with tempfile.TemporaryDirectory() as folder:
    own, mean = ("mean", "own") if change == "folders" else ("own", "mean")
    for name, weights in ((own, model.state_dict()), (mean, averaged)):
        os.mkdir(f"{folder}/{name}")
        torch.save(weights, f"{folder}/{name}/weights.pt")
tasks = [{"task": task + (change == "thread")} for task in range(2)]
threads = [threading.Thread(target=torch.save, args=(task, io.BytesIO())) for task in tasks]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sum(parameter.sum().item() for parameter in model.parameters()))

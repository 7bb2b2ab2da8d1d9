"""Trains a layer and saves it with safetensors in between. `safetensors_files.py FOLDER CHANGE`: "none", or what is
saved otherwise: "scaled" tensors, of "half" precision, or one "less"."""

import os
import sys

import torch
from safetensors.torch import save, save_file

folder, change = sys.argv[1:]
torch.manual_seed(0)
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    model(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    if step == 1:
        weights = dict(model.state_dict())
        if change == "scaled":
            weights = {key: weight * 0.5 for key, weight in weights.items()}
        if change == "half":
            weights = {key: weight.half() for key, weight in weights.items()}
        if change == "less":
            del weights["bias"]
        save_file(weights, os.path.join(folder, "model.safetensors"))
        print(len(save(weights)))
print(model.weight.sum().item())

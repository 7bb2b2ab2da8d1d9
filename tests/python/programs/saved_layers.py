"""Trains a small network and saves what its layers compute.

Usage: saved_layers.py FOLDER
"""

import os
import sys

import torch
from torch import nn

DTYPES = {"to_half": torch.float16, "to_brain": torch.bfloat16, "to_double": torch.float64}


class Cast(nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.dtype = dtype

    def forward(self, x):
        return x.to(self.dtype)


class Spectrum(nn.Module):
    def forward(self, x):
        return torch.fft.rfft(x)


class Saving(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.casts = nn.ModuleDict({name: Cast(dtype) for name, dtype in DTYPES.items()})
        self.spectrum = Spectrum()
        self.head = nn.Sequential(nn.Linear(64, 32), nn.GELU(), nn.Linear(32, 10))

    def forward(self, images):
        x = self.conv(images).contiguous(memory_format=torch.channels_last)
        for cast in self.casts.values():
            x = cast(x)
        return self.head(self.spectrum(x.float().flatten(1)).abs()[:, :64])


def main(folder):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = Saving()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    outputs = {}

    def keep(module, _, output):
        output.retain_grad()
        outputs[names[module]] = output

    names = {module: name for name, module in model.named_modules() if name}
    for module in names:
        module.register_forward_hook(keep)
    for step in range(3):

        def save(name, tensor):
            torch.save(tensor.detach().clone(), os.path.join(folder, f"step{step}.{name}.pt"))

        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(torch.randn(8, 1, 12, 12)), torch.arange(8))
        for name, output in outputs.items():
            save(f"forward.{name}.output", output)
        loss.backward()
        for name, output in outputs.items():
            save(f"backward.{name}.grad_output", output.grad)
        for name, parameter in model.named_parameters():
            save(f"backward.{name}.grad", parameter.grad)
        optimizer.step()
        for name, parameter in model.named_parameters():
            save(f"optimizer.{name}", parameter)


if __name__ == "__main__":
    main(sys.argv[1])

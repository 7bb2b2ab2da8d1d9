"""Trains a small transformer on a device, as Python programs do.

Usage: device_train.py [--device cuda] [--mode MODE] [--steps N] [--plant PLANT] [--single-tensor]
"""

import argparse
import hashlib
import statistics
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

MODES = ("plain", "amp", "graph", "compiled", "workers", "streams", "triton")
PLANTS = ("none", "rand", "eps", "tf32", "scale", "swap", "decay")
BATCH = 16


class Layer(nn.Module):
    def __init__(self, width, dropout):
        super().__init__()
        self.ln1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.ln2 = nn.LayerNorm(width)
        self.fc1 = nn.Linear(width, 2 * width)
        self.fc2 = nn.Linear(2 * width, width)
        self.drop = nn.Dropout(dropout)
        self.scale = 1.0

    def forward(self, x):
        batch, tokens, width = x.shape
        parts = self.qkv(self.ln1(x)).view(batch, tokens, 3, 4, width // 4).permute(2, 0, 3, 1, 4)
        attended = nn.functional.scaled_dot_product_attention(*parts)
        x = x + self.drop(self.proj(attended.transpose(1, 2).reshape(batch, tokens, width)))
        hidden = nn.functional.gelu(self.fc1(self.ln2(x)))
        return x + self.drop(self.fc2(hidden)) * self.scale


class Model(nn.Module):
    def __init__(self, width, dropout):
        super().__init__()
        self.embedding = nn.Embedding(64, width)
        self.layers = nn.ModuleList([Layer(width, dropout) for _ in range(2)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 64)

    def forward(self, words):
        x = self.embedding(words)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def batches(arguments):
    """Words, the same in every run, on the device."""
    generator = torch.Generator().manual_seed(1)
    order = list(range(arguments.steps * BATCH))
    if arguments.plant == "swap":
        order[BATCH], order[BATCH + 1] = order[BATCH + 1], order[BATCH]
    words = torch.randint(0, 64, (arguments.steps * BATCH, 33), generator=generator)[order]
    workers = 2 if arguments.mode == "workers" else 0
    pinned = workers > 0 and arguments.device == "cuda"
    for (batch,) in DataLoader(
        TensorDataset(words), batch_size=BATCH, num_workers=workers, pin_memory=pinned
    ):
        yield batch.to(arguments.device, non_blocking=pinned)


def plant(name, training):
    """What one run has from step 1 on; the others are planted where they belong."""
    model = training.model
    layer = model.layers[1]
    if name == "rand":
        torch.rand(1, device=model.head.weight.device)
    elif name == "eps":
        layer.ln2.eps = 1e-6
    elif name == "scale":
        layer.scale = 1.0001
    elif name == "decay":
        training.average.decay = 0.8


class Average:
    """Of a weight over the steps, by a kernel of the program's own that is tuned at its first launch."""

    def __init__(self, weight):
        import triton
        from average_kernel import averaged

        self.weight = weight
        self.value = weight.detach().clone()
        self.decay = 0.9
        self.launch = averaged[lambda chosen: (triton.cdiv(weight.numel(), chosen["BLOCK"]),)]

    def update(self):
        self.launch(self.value, self.weight.detach(), self.decay, self.value.numel())


class Training:
    def __init__(self, arguments):
        self.device = arguments.device
        self.mode = arguments.mode
        dropout = 0.1 if arguments.dropout else 0.0
        self.model = Model(arguments.width, dropout).to(self.device)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(),
            lr=1e-3,
            capturable=self.mode == "graph" and self.device == "cuda",
            foreach=False if arguments.single_tensor else None,
        )
        self.scaler = torch.amp.GradScaler(self.device, enabled=self.mode == "amp")
        self.forward = torch.compile(self.model) if self.mode == "compiled" else self.model
        self.average = Average(self.model.head.weight) if self.mode == "triton" else None
        self.graph = None
        self.warmed = 0

    def loss(self, words):
        with torch.autocast(self.device, dtype=torch.bfloat16, enabled=self.mode == "amp"):
            out = self.forward(words[:, :-1])
            return nn.functional.cross_entropy(out.flatten(0, 1), words[:, 1:].flatten())

    def step(self, words):
        self.optimizer.zero_grad()
        loss = self.loss(words)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        if self.average:
            self.average.update()
        return loss.detach()

    def in_stream(self, words):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            loss = self.step(words)
        torch.cuda.current_stream().wait_stream(stream)
        return loss

    def replayed(self, words):
        """The first steps as they are, then a graph of one."""
        if self.graph is None and self.warmed == 3:
            self.words = words.clone()
            self.graph = torch.cuda.CUDAGraph()
            self.optimizer.zero_grad()
            with torch.cuda.graph(self.graph):
                self.static_loss = self.step(self.words)
        if self.graph is None:
            self.warmed += 1
            return self.in_stream(words)
        self.words.copy_(words)
        self.graph.replay()
        return self.static_loss.clone()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--mode", choices=MODES, default="plain")
    parser.add_argument("--plant", choices=PLANTS, default="none")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--dropout", action="store_true")
    parser.add_argument("--single-tensor", action="store_true", help="Adam updates one tensor after the other")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    torch.backends.cuda.matmul.allow_tf32 = arguments.plant == "tf32"
    training = Training(arguments)
    take = training.step
    if arguments.device == "cuda":
        take = {"graph": training.replayed, "streams": training.in_stream}.get(arguments.mode, take)
    seconds = []
    for step, words in enumerate(batches(arguments)):
        if step == 1:
            plant(arguments.plant, training)
        began = time.perf_counter()
        loss = take(words).item()
        seconds.append(time.perf_counter() - began)
        print(step, loss.hex())
    digest = hashlib.sha256()
    for name, tensor in training.model.state_dict().items():
        digest.update(name.encode() + tensor.cpu().numpy().tobytes())
    if training.average:
        digest.update(training.average.value.cpu().numpy().tobytes())
    print("digest", digest.hexdigest()[:16])
    print(f"median step {statistics.median(seconds):.6f} s", file=sys.stderr)


if __name__ == "__main__":
    main()

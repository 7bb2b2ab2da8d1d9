"""Executes a plan as a Python program would be written, and says what it leaves."""

import collections
import copy
import ctypes
import hashlib
import random

import numpy
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

import plans

ROWS, BATCH = 16, 6


def digest(data):
    return hashlib.sha1(data).hexdigest()[:12]


def digest_of(tensor):
    """Read through its memory, which no recorder sees, where that is in order."""
    tensor = tensor.detach()
    bytes_of_it = (ctypes.string_at(tensor.data_ptr(), tensor.nbytes) if tensor.is_contiguous() and tensor.numel()
                   else tensor.contiguous().numpy().tobytes())
    return digest(repr((tensor.dtype, tuple(tensor.shape))).encode() + bytes_of_it)


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.saved_tensors[0] * grad


class Block(nn.Module):
    def __init__(self, width, kind):
        super().__init__()
        self.kind, self.linear = kind, nn.Linear(width, width)
        made = {"layer_norm": nn.LayerNorm, "batch_norm": nn.BatchNorm1d, "dropout": lambda _: nn.Dropout(0.2)}
        self.more = made[kind](width) if kind in made else nn.Identity()
        self.register_buffer("calls", torch.zeros(1) if kind == "counter" else None)

    def forward(self, x):
        y = self.more(self.linear(x))
        if self.calls is not None:
            self.calls += 1
        return torch.tanh(Square.apply(y) * 0.1 if self.kind == "function" else y) + x


class Net(nn.Module):
    def __init__(self, plan):
        super().__init__()
        self.checkpointed = plan["checkpointed"]
        self.blocks = nn.ModuleList(Block(plan["width"], kind) for kind in plan["blocks"])
        self.head = nn.Linear(plan["width"], plan["outputs"])

    def forward(self, x):
        for number, block in enumerate(self.blocks):
            x = checkpoint(block, x, use_reentrant=False) if self.checkpointed and number == 0 else block(x)
        return self.head(x)


OPTIMIZERS = {"sgd": torch.optim.SGD, "momentum": lambda *args, **options: torch.optim.SGD(*args, momentum=0.9, **options),
              "adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "rmsprop": torch.optim.RMSprop}
UNARY = (torch.relu, torch.sin, torch.tanh, torch.neg, torch.clone, lambda x: x.t().contiguous())
BINARY = (torch.add, torch.mul, torch.maximum, lambda a, b: a @ b * 0.1)


class Execution:
    def __init__(self, plan):
        self.plan, self.width = plan, plan["width"]
        self.tensors = [None] * plans.TENSORS
        self.kept, self.copies, self.momentum = [], [], {}
        self.numbers, self.seen = [], set()
        self.net = self.optimizer = self.average_net = None
        for seed in (torch.manual_seed, numpy.random.seed, random.seed):
            seed(plan["seed"])
        self.generator = torch.Generator().manual_seed(plan["seed"] + 7)

    def run(self):
        for each in self.plan["instructions"]:
            needs_model = each["op"].startswith("weight_") or each["op"] in (
                "step", "evaluate", "average", "schedule", "copy_state", "load_state")
            if self.net is not None or not needs_model:
                getattr(self, each["op"])(**{name: value for name, value in each.items() if name != "op"})
        if self.plan["reads_all"]:
            self.numbers += [tensor.sum().item() for tensor in self.tensors]
        return self

    def put(self, to, tensor):
        self.tensors[to] = tensor
        self.seen.add(digest_of(tensor))

    def drawn(self, source):
        size = self.width, self.width
        if source == "own":
            return torch.rand(size, generator=self.generator)
        if source == "numpy":
            return torch.tensor(numpy.random.rand(*size).astype(numpy.float32))
        if source == "from_numpy":
            return torch.from_numpy(numpy.random.rand(*size).astype(numpy.float32))
        if source == "python":
            return torch.tensor([[random.random() for _ in range(self.width)] for _ in range(self.width)])
        return torch.rand(size)

    # Of tensors.

    def make(self, to, source, **_):
        self.put(to, self.drawn(source))

    def unary(self, to, a, which, **_):
        self.put(to, UNARY[which](self.tensors[a]))

    def binary(self, to, a, b, which, **_):
        operation = BINARY[which % len(BINARY)]
        one, other = self.tensors[a], self.tensors[b]
        self.put(to, one + other if operation is torch.add and self.plan["respelled"] else operation(one, other))

    def in_place(self, a, which, factor, **_):
        (self.tensors[a].mul_ if which % 2 else self.tensors[a].add_)(factor)
        self.put(a, self.tensors[a])

    def view_in(self, a, factor, **_):
        self.tensors[a][1:3].mul_(factor)
        self.put(a, self.tensors[a])

    def numpy_write(self, a, i, j, factor, **_):
        self.tensors[a].numpy()[i, j] *= factor
        self.put(a, self.tensors[a])

    def numpy_copy(self, to, a, factor, **_):
        self.put(to, torch.tensor(self.tensors[a].numpy() * numpy.float32(factor)))

    def item(self, a, **_):
        self.numbers.append(self.tensors[a].sum().item())

    def grad(self, to, a, b, **_):
        leaf = self.tensors[a].clone().requires_grad_()
        (leaf.sin() * self.tensors[b]).sum().backward()
        self.put(to, leaf.grad)

    def func_grad(self, to, a, b, **_):
        self.put(to, torch.func.grad(lambda x: (x * x * self.tensors[b]).sum())(self.tensors[a]))

    def set_data(self, a, b, **_):
        self.tensors[a].data = self.tensors[b].clone()
        self.put(a, self.tensors[a])

    def index(self, to, a, **_):
        self.put(to, self.tensors[a][torch.randperm(self.width, generator=self.generator)])

    def cat(self, to, a, b, **_):
        self.put(to, torch.cat([self.tensors[a][:1], self.tensors[b][1:]]))

    def replace(self, to, **_):
        self.put(to, torch.zeros(self.width, self.width))

    def keep(self, a, **_):
        self.kept.append(self.tensors[a])

    def times_one(self, to, a, **_):
        self.put(to, self.tensors[a] * 1.0)

    def unused(self, a, which, **_):
        self.seen.add(digest_of(UNARY[which](self.tensors[a])))

    def unused_draw(self, source, **_):
        self.seen.add(digest_of(self.drawn(source)))

    # Of the model.

    def model(self, **_):
        self.net = Net(self.plan)
        self.inputs = torch.stack([self.drawn(self.plan["data"])[0] for _ in range(ROWS)])
        self.targets = torch.rand(ROWS, self.plan["outputs"], generator=self.generator)
        self.average_net, self.copies, self.momentum, self.optimizer = None, [], {}, None
        if self.plan["optimizer"] != "by hand":
            self.optimizer = OPTIMIZERS[self.plan["optimizer"]](self.net.parameters(), lr=self.plan["lr"])

    def weight(self, number):
        parameters = list(self.net.parameters())
        return parameters[number % len(parameters)]

    def weight_write(self, a, i, factor, way, **_):
        weight = self.weight(a)
        if way == "pointer":
            ctypes.cast(weight.data_ptr(), ctypes.POINTER(ctypes.c_float))[i % weight.numel()] *= factor
        elif way == "data":
            weight.data.view(-1)[i % weight.numel()] *= factor
        else:
            weight.detach().numpy().reshape(-1)[i % weight.numel()] *= numpy.float32(factor)

    def weight_set(self, a, factor, **_):
        weight = self.weight(a)
        weight.data = weight.data.clone() * factor

    def weight_in(self, a, factor, **_):
        with torch.no_grad():
            self.weight(a).mul_(factor)

    def batch(self, number):
        order = self.plan["order"]
        if order == "loader":
            return next(iter(DataLoader(TensorDataset(self.inputs, self.targets), batch_size=BATCH, shuffle=True)))
        if order == "randperm":
            rows = torch.randperm(ROWS)[:BATCH]
        elif order == "numpy":
            rows = torch.from_numpy(numpy.random.permutation(ROWS)[:BATCH])
        elif order == "python":
            rows = random.sample(range(ROWS), BATCH)
        else:
            rows = slice(4 * number, 4 * number + BATCH)
        return self.inputs[rows], self.targets[rows]

    def with_noise(self, x, noise):
        if noise == "torch":
            return x + 0.1 * torch.randn_like(x)
        if noise == "numpy":
            return x + torch.from_numpy((0.1 * numpy.random.randn(*x.shape)).astype(numpy.float32))
        return x * random.uniform(0.9, 1.1) if noise == "python" else x

    def step(self, number, parts, clip, set_to_none, noise, reads, scale, **_):
        self.net.train()
        if self.optimizer:
            self.optimizer.zero_grad(set_to_none=set_to_none)
        else:
            for parameter in self.net.parameters():
                parameter.grad = None
        for _ in range(parts):
            x, wanted = self.batch(number)
            away = self.net(self.with_noise(x, noise)) - wanted
            loss = (away ** 2).mean() if self.plan["respelled"] else away.square().mean()
            if parts > 1 or scale != 1:
                loss = loss * scale / parts
            loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(self.net.parameters(), clip)
        if self.optimizer:
            self.optimizer.step()
        else:
            self.update_by_hand()
        if reads:
            self.numbers.append(loss.item())

    def update_by_hand(self):
        with torch.no_grad():
            for number, parameter in enumerate(self.net.parameters()):
                if parameter.grad is not None:
                    velocity = self.momentum.setdefault(number, torch.zeros_like(parameter))
                    parameter.sub_(self.plan["lr"] * velocity.mul_(0.9).add_(parameter.grad))

    def evaluate(self, **_):
        self.net.eval()
        with torch.no_grad():
            self.numbers.append(self.net(self.inputs).sum().item())

    def average(self, factor, **_):
        if self.average_net is None:
            self.average_net = copy.deepcopy(self.net)
        with torch.no_grad():
            for mean, parameter in zip(self.average_net.parameters(), self.net.parameters()):
                mean.lerp_(parameter, 1 - factor)

    def schedule(self, **_):
        for group in self.optimizer.param_groups if self.optimizer else ():
            group["lr"] *= 0.5

    def copy_state(self, **_):
        self.copies.append({name: tensor.clone() for name, tensor in self.net.state_dict().items()})

    def load_state(self, **_):
        if self.copies:
            self.net.load_state_dict(self.copies[0])

    # What is left.

    def state(self):
        """Digests by name: of models, gradients, optimizers and generators."""
        for tag, net in (("net", self.net), ("average", self.average_net)):
            for name, tensor in net.state_dict().items() if net is not None else ():
                yield f"{tag}.{name}", digest_of(tensor)
            for name, parameter in net.named_parameters() if net is not None else ():
                if parameter.grad is not None:
                    yield f"{tag}.{name}.grad", digest_of(parameter.grad)
        for number, kept in (self.optimizer.state_dict()["state"] if self.optimizer else {}).items():
            for name, value in kept.items():
                yield f"optimizer.{number}.{name}", digest_of(value) if torch.is_tensor(value) else repr(value)
        for number, velocity in self.momentum.items():
            yield f"momentum.{number}", digest_of(velocity)
        yield "generator", digest(torch.get_rng_state().numpy().tobytes())
        yield "own generator", digest(self.generator.get_state().numpy().tobytes())
        yield "generator of NumPy", digest(repr(numpy.random.get_state()[2:]).encode() + numpy.random.get_state()[1].tobytes())
        yield "generator of Python", digest(repr(random.getstate()).encode())

    def left(self):
        held = {digest_of(tensor) for tensor in (*self.tensors, *self.kept)}
        return {"state": dict(self.state()), "held": held, "seen": self.seen | held, "numbers": collections.Counter(self.numbers)}


def difference(one, other):
    """Which of the things that two runs leave differ. A number or a tensor more is no difference, as in judge.py."""
    names = one["state"].keys() | other["state"].keys()
    found = sorted(name for name in names if one["state"].get(name) != other["state"].get(name))
    if (one["numbers"] - other["numbers"]) and (other["numbers"] - one["numbers"]):
        found.append("numbers")
    if (one["held"] - other["seen"]) or (other["held"] - one["seen"]):
        found.append("held")
    return found

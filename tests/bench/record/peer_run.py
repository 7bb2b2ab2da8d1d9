#!/usr/bin/env python3
"""One process of peers_bench.py: steps of a training, bare and with a tool.

    python peer_run.py MODEL TOOL PAIRS DIGITS.CSV FOLDER

Prints one line of JSON: the seconds of steps bare and with the tool, and the bytes that a step left in
FOLDER.
"""

import hashlib
import json
import os
import sys
import time
from contextlib import ExitStack, contextmanager

import torch
from peer_models import Training

WARM_UP = 2


def leaves(model):
    return [module for module in model.modules() if not list(module.children())]


def tensors(values):
    values = values if isinstance(values, (tuple, list)) else [values]
    return [value for value in values if isinstance(value, torch.Tensor)]


def memory_of(tensor):
    return memoryview(tensor.detach().contiguous().view(-1).numpy()).cast("B")


def forward_hooks(digest):
    @contextmanager
    def tool(training, _):
        log = []
        handles = [module.register_forward_hook(
            lambda module, _, output: log.extend(digest(tensor) for tensor in tensors(output)))
            for module in leaves(training.model)]
        yield
        assert log
        for handle in handles:
            handle.remove()
    return tool


def xxhash_digest(tensor):
    import xxhash  # pylint: disable=import-outside-toplevel  # a package that need not be there
    return xxhash.xxh3_128_digest(memory_of(tensor))


@contextmanager
def saving_hooks(training, folder):
    count = 0

    def save(values):
        nonlocal count
        for tensor in tensors(values):
            torch.save(tensor.detach(), os.path.join(folder, f"{count}.pt"))
            count += 1

    handles = []
    for module in leaves(training.model):
        handles.append(module.register_forward_hook(lambda module, _, output: save(output)))
        handles.append(module.register_full_backward_hook(
            lambda module, grad_input, grad_output: save(grad_output)))
    yield
    for handle in handles:
        handle.remove()


def debug_mode(hash_inputs):
    @contextmanager
    def tool(_, __):
        from torch.utils._debug_mode import DebugMode  # pylint: disable=import-outside-toplevel
        with DebugMode() as mode, DebugMode.log_tensor_hashes("hash_tensor", hash_inputs=hash_inputs):
            yield
        assert mode.debug_string()
    return tool


@contextmanager
def profiler(_, __):
    from torch.profiler import ProfilerActivity, profile  # pylint: disable=import-outside-toplevel
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True):
        yield


class Msprobe:
    """It changes torch for good: a process that has met it has no bare steps any more."""

    def __init__(self, summary):
        self._summary = summary
        self._debugger = None

    @contextmanager
    def __call__(self, training, folder):
        if self._debugger is None:
            from msprobe.pytorch import PrecisionDebugger  # pylint: disable=import-outside-toplevel
            config = os.path.join(folder, "config.json")
            with open(config, "w", encoding="ascii") as file:
                json.dump({"task": "statistics", "dump_path": os.path.join(folder, "dump"), "rank": [],
                           "step": [], "level": "L1", "statistics": {
                               "scope": [], "list": [], "data_mode": ["all"],
                               "summary_mode": self._summary}}, file)
            self._debugger = PrecisionDebugger(config_path=config)
        self._debugger.start(training.model)
        yield
        self._debugger.stop()
        self._debugger.step()


TOOLS = {
    "hooks, hash_tensor": forward_hooks(lambda tensor: torch.hash_tensor(tensor.detach()).item()),
    "hooks, xxh3_128": forward_hooks(xxhash_digest),
    "hooks, sha256": forward_hooks(lambda tensor: hashlib.sha256(memory_of(tensor)).digest()),
    "hooks both ways, torch.save": saving_hooks,
    "DebugMode, outputs": debug_mode(False),
    "DebugMode, inputs too": debug_mode(True),
    "torch.profiler": profiler,
    "msprobe, statistics": Msprobe("statistics"),
    "msprobe, md5": Msprobe("md5"),
}
# What these do when they begin and end is not part of a step: a user profiles many steps at once.
ENTERED_OUTSIDE = {"torch.profiler", "hooks, hash_tensor", "hooks, xxh3_128", "hooks, sha256",
                   "hooks both ways, torch.save"}


def bytes_below(folder):
    return sum(os.path.getsize(os.path.join(path, file))
               for path, _, files in os.walk(folder) for file in files)


def bare_step(training):
    begin = time.perf_counter()
    training.step()
    return time.perf_counter() - begin


def step_with(name, training, folder):
    with ExitStack() as outside:
        if name in ENTERED_OUTSIDE:
            outside.enter_context(TOOLS[name](training, folder))
            return bare_step(training)
        begin = time.perf_counter()
        with TOOLS[name](training, folder):
            training.step()
        return time.perf_counter() - begin


def main():
    model, name, pairs, digits, folder = sys.argv[1:]
    pairs = int(pairs)
    torch.set_num_threads(1)
    training = Training(model, digits)
    for _ in range(WARM_UP):
        training.step()
    if name.startswith("msprobe"):
        bare = [bare_step(training) for _ in range(pairs)]
        step_with(name, training, folder)
        before = bytes_below(folder)
        with_tool = [step_with(name, training, folder) for _ in range(pairs)]
        left = (bytes_below(folder) - before) / pairs
    else:
        step_with(name, training, folder)
        bare, with_tool = [], []
        for _ in range(pairs):
            bare.append(bare_step(training))
            with_tool.append(step_with(name, training, folder))
        left = bytes_below(folder)  # each step writes over the files of the one before
    print("\n" + json.dumps({"bare": bare, "with": with_tool, "left": left}), flush=True)


if __name__ == "__main__":
    main()

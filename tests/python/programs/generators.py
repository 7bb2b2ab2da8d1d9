"""Trains with data and samples from NumPy's and Python's generators, which are seeded before PyTorch is imported.

    generators.py WHICH [HOW]

WHICH is drawn from once more, which no value shows: python, numpy; held, one of its own; more_files: before it trains,
more often than a generator makes numbers at once, compared with files. Or PyTorch's second one is seeded, set_state;
with by_chance, never drawn from again. HOW: `leave` by os._exit(); `thread`: one that
is joined has drawn from NumPy's generator, as often as it came to it; `child`: all is done by a process that is forked
after a seed and draws from Python's generator, which a fork seeds anew.
"""

import os
import pickle
import random
import sys
import threading

import numpy

random.seed(3)
numpy.random.seed(3)

import torch

from digest import print_digest

torch.manual_seed(3)
torch.set_num_threads(1)
which = sys.argv[1]
held = numpy.random.default_rng(3)
never_seeded = random.Random()
first, second = (torch.Generator().manual_seed(seed) for seed in (4, 5))
if which in ("files", "more_files"):
    random.seed(4)
    random.shuffle(list(range(3000 if which == "files" else 5000)))


def train():
    rows = torch.from_numpy(numpy.random.randn(64, 4).astype(numpy.float32))
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(3):
        picked = numpy.random.permutation(64)[:8]
        optimizer.zero_grad()
        noise = torch.randn(1, generator=first) + torch.randn(1, generator=second)
        loss = net(rows[picked] + 0.01 * noise).square().mean()
        loss.backward()
        optimizer.step()
        print(step, loss.item())
    if which == "python":
        random.random()
    if which == "numpy":
        numpy.random.rand(1000)
    if which == "held":
        held.random()
        never_seeded.random()
    if which == "seeded":
        second.manual_seed(77)
    if which == "set_state":
        second.set_state(first.get_state())
    if which == "by_chance":
        second.seed()
    print_digest(net)


def draw_for_a_while(stopped):
    while not stopped.is_set():
        numpy.random.rand()


for seed in (random.seed, numpy.random.seed, os._exit):
    assert pickle.loads(pickle.dumps(seed)) is seed
if "thread" in sys.argv:
    stopped = threading.Event()
    drawing = threading.Thread(target=draw_for_a_while, args=(stopped,))
    torch.nn.Linear(4, 4)(torch.ones(4))
    drawing.start()
    torch.nn.Linear(4, 4)(torch.ones(4))
    stopped.set()
    drawing.join()
elif "child" in sys.argv:
    random.seed(3)
    child = os.fork()
    if child == 0:
        random.random()
        train()
        sys.exit()
    os.waitpid(child, 0)
else:
    train()
if "leave" in sys.argv:
    sys.stdout.flush()
    os._exit(0)

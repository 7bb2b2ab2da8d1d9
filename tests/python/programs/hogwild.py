"""Two processes that train a model in shared memory by turns, as torch.multiprocessing's tutorial has it.

Usage: hogwild.py late|early: when the first process ends, after the last step of the other or before it
"""

import sys

import torch
from digest import print_digest
from torch import multiprocessing, nn

STEPS = 3


def train(seed, model, mine, other, may_end):
    torch.set_num_threads(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    batches = torch.randn(STEPS, 8, 4, generator=torch.Generator().manual_seed(seed))
    for batch in batches:
        mine.acquire()
        optimizer.zero_grad()
        model(batch).pow(2).mean().backward()
        optimizer.step()
        other.release()
    may_end.wait()


def main(ends):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
    model.share_memory()
    context = multiprocessing.get_context("fork")
    turn, done, last_turn = context.Semaphore(1), context.Semaphore(0), context.Semaphore(0)
    may_end, at_once = context.Event(), context.Event()
    at_once.set()
    first = context.Process(target=train, args=(0, model, turn, done, may_end))
    last = context.Process(target=train, args=(1, model, last_turn, turn, at_once))
    first.start()
    last.start()
    for step in range(STEPS):
        done.acquire()
        if ends == "early" and step == STEPS - 1:
            may_end.set()
            first.join()
        last_turn.release()
    last.join()
    may_end.set()
    first.join()
    print_digest(model)


if __name__ == "__main__":
    main(sys.argv[1])

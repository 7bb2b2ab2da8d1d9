"""A pool of two processes whose tasks compute. `pools.py KIND HELD OTHER`: KIND is fork, spawn or executor. The task
HELD waits until the others are done, so that which process does which depends on it; OTHER multiplies by another
number, if it is one."""

import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import torch

TASKS = 8


def begin(count):
    global done
    done = count


def work(task):
    number, held, other = task
    while number == held and done.value < TASKS - 1:
        time.sleep(0.01)
    result = (torch.full((3,), float(number)) * (3 if number == other else 2)).sum()
    with done.get_lock():
        done.value += 1
    return float(result)


def main():
    kind, held, other = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = torch.nn.Linear(4, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(3):
        optimizer.zero_grad()
        net(torch.ones(2, 4) * (step + 1)).square().mean().backward()
        optimizer.step()
    context = multiprocessing.get_context("spawn" if kind == "spawn" else "fork")
    count = context.Value("i", 0)
    tasks = [(number, held, other) for number in range(TASKS)]
    if kind == "executor":
        with ProcessPoolExecutor(2, context, begin, (count,)) as pool:
            results = list(pool.map(work, tasks))
    else:
        with context.Pool(2, begin, (count,)) as pool:
            results = pool.map(work, tasks, 1)
    print(results)


if __name__ == "__main__":
    main()

"""A pool of two processes whose tasks compute. `pools.py KIND HELD OTHER [WRITES]`: KIND is fork, joined, spawn, executor,
joblib or multiprocess. The task HELD waits until the others are done, so that which process does which depends on it;
OTHER multiplies by another number, and WRITES writes into its result through NumPy, if it is one. A joined pool ends its
processes by itself, the others by a signal or by os._exit()."""

import multiprocessing
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor

import torch

TASKS = 8


def work(task):
    number, held, other, writes, folder = task
    while number == held and len(os.listdir(folder)) < TASKS - 1:
        time.sleep(0.01)
    result = torch.full((3,), float(number)) * (3 if number == other else 2)
    total = float(result.sum())
    array = result.numpy()
    if number == writes:
        array[0] = 99
    open(os.path.join(folder, str(number)), "w").close()
    return total, array.tolist()


def results_of(kind, tasks):
    if kind == "joblib":
        import joblib
        return joblib.Parallel(2)(joblib.delayed(work)(task) for task in tasks)
    if kind == "executor":
        with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:
            return list(pool.map(work, tasks))
    if kind == "multiprocess":
        import multiprocess
        context = multiprocess.get_context("fork")
    else:
        context = multiprocessing.get_context("spawn" if kind == "spawn" else "fork")
    with context.Pool(2) as pool:
        results = pool.map(work, tasks, 1)
        if kind == "joined":
            pool.close()
            pool.join()
        return results


def main():
    kind, (held, other, writes) = sys.argv[1], map(int, (*sys.argv[2:], -1)[:3])
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = torch.nn.Linear(4, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(3):
        optimizer.zero_grad()
        net(torch.ones(2, 4) * (step + 1)).square().mean().backward()
        optimizer.step()
    with tempfile.TemporaryDirectory() as folder:
        print(results_of(kind, [(number, held, other, writes, folder) for number in range(TASKS)]))


if __name__ == "__main__":
    main()

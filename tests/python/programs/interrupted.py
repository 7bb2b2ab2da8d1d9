"""A signal handler raises as a function of Python is called that is neither the program's, nor PyTorch's nor Python's:
each one once for each function that calls it."""

import gc
import io
import os
import random
import signal
import sys

import torch
import torch._dynamo
from torch import nn

KNOWN = (__file__, os.path.dirname(torch.__file__), os.path.dirname(os.__file__), "<")


class Alarm(Exception):
    pass


def raise_alarm(*_):
    raise Alarm()


def train():
    random.seed(1)
    model = nn.Sequential(nn.Linear(2, 2), nn.Identity())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = model(torch.ones(1, 2)).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, io.BytesIO())
    del model, optimizer, loss
    gc.collect()
    nn.Identity()(torch.ones(1))


def place(code):
    return f"{code.co_filename}:{code.co_firstlineno}"


class Interruption:
    """Raises at one of the calls."""

    def __init__(self, at):
        self.at = at
        self.met = {}  # the calls that were the first of their kind -> whether one was interrupted

    def __call__(self, frame, event, _):
        if event != "call" or frame.f_code.co_filename.startswith(KNOWN):
            return
        call = f"{place(frame.f_code)} from {place(frame.f_back.f_code)}"
        if call in self.met:
            return
        self.met[call] = call == self.at
        if self.met[call]:
            sys.setprofile(None)
            signal.raise_signal(signal.SIGALRM)


def run(at, calls):
    """0: the exception has reached the program; 1: it has not; 2: there is no such call."""
    interruption = Interruption(at)
    try:
        sys.setprofile(interruption)
        train()
    except Alarm:
        return 0
    finally:
        sys.setprofile(None)
        os.write(calls, "\n".join(interruption.met).encode())
    return 1 if interruption.met.get(at) else 2


def code_of_child(at, calls):
    child = os.fork()
    if child == 0:
        os._exit(run(at, calls))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


signal.signal(signal.SIGALRM, raise_alarm)
with open(os.devnull, "wb") as nowhere, os.fdopen(os.memfd_create("calls"), "r+b") as calls:
    code_of_child(None, calls.fileno())
    calls.seek(0)
    known = calls.read().decode().split("\n")
    codes = {call: code_of_child(call, nowhere.fileno()) for call in known}
print("lost", [call for call, code in codes.items() if code == 1])

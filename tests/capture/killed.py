#!/usr/bin/env python3
"""Kills a recorded program, its writer, or both, at random moments, and checks what is left.

    killed.py --bin build/release/bin [--kills 10] [--seed 1] program|both

After each kill: every published segment verifies, and what was committed before the kill is in the
dump, at once where the writer lived on, after `ulpscope recover` where it did not.
"""

import argparse
import json
import os
import pty
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time


def kill_quietly(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def child_of(pid):
    """The recorded program: the writer's only child."""
    for _ in range(1000):
        try:
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
                pids = children.read().split()
            if pids:
                return int(pids[0])
        except FileNotFoundError:
            return None
        time.sleep(0.001)
    return None


class Terminal:
    """Where the program prints: a terminal, so that it prints each line at once."""

    def __init__(self):
        self.reader, self.writer = pty.openpty()
        self.steps = 0
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        text = b""
        while True:
            try:
                data = os.read(self.reader, 65536)
            except OSError:  # nobody holds the other end any more
                break
            text += data
        self.steps = len(re.findall(rb"step \d+ loss", text))

    def close(self):
        self.thread.join()
        os.close(self.reader)


def one_kill(binary, program, victim, delay, folder):
    """Returns a sentence for what went wrong, or None, and the number of steps recovered."""
    ulpscope = os.path.join(binary, "ulpscope")
    dump = os.path.join(folder, "dump")
    terminal = Terminal()
    writer = subprocess.Popen([ulpscope, "record", "-o", dump, "--", *program],
                              stdout=terminal.writer, stderr=subprocess.DEVNULL)
    os.close(terminal.writer)
    recorded = child_of(writer.pid)
    time.sleep(delay)
    if victim == "both":
        kill_quietly(writer.pid)
    if recorded is not None:
        kill_quietly(recorded)
    code = writer.wait()
    terminal.close()
    if victim == "program" and code not in (0, 137):
        return f"record ended with {code}", 0
    if not os.path.isdir(os.path.join(dump, "rank0000")):
        return None, 0  # killed before the first event
    if victim == "both":
        done = subprocess.run([ulpscope, "recover", dump], capture_output=True, text=True)
        if done.returncode != 0:
            return f"recover: {done.stderr}", 0
    verified = subprocess.run([ulpscope, "verify", dump], capture_output=True, text=True)
    if verified.returncode != 0:
        return f"verify: {verified.stdout}{verified.stderr}", 0
    compared = subprocess.run([ulpscope, "compare", dump, dump, "--format", "json"],
                              capture_output=True, text=True)
    if compared.returncode not in (0, 2):
        return f"compare: {compared.stderr}", 0
    report = json.loads(compared.stdout)
    if report["coverage"]["only_reference"] or report["findings"]:
        return "a dump differs from itself", 0
    steps = report["reference"]["steps"]
    if victim == "program" and steps < terminal.steps:
        return f"{terminal.steps} steps were printed, {steps} are in the dump", steps
    return None, steps


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("victim", choices=["program", "both"])
    arguments = parser.parse_args()
    program = [os.path.join(arguments.bin, "layernorm_mlp"), "--steps", "2000"]
    moments = random.Random(arguments.seed)
    failures, with_steps = 0, 0
    for kill in range(arguments.kills):
        with tempfile.TemporaryDirectory(prefix="ulpscope-kill-") as folder:
            wrong, steps = one_kill(arguments.bin, program, arguments.victim,
                                    moments.uniform(0.1, 2.5), folder)
        with_steps += steps > 0
        if wrong:
            failures += 1
            print(f"kill {kill}: {wrong}")
    print(f"{arguments.kills} kills of {arguments.victim}: {failures} failed, "
          f"{with_steps} left recorded steps")
    return 1 if failures or not with_steps else 0


if __name__ == "__main__":
    sys.exit(main())

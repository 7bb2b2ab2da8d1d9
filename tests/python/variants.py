#!/usr/bin/env python3
"""Records a program many times with other flags, each time in a process of its own that records itself. These are
forked once PyTorch is there, which is most of what such a program takes to start.

    variants.py PROGRAM < VARIANTS      a line for each: {"dump": PATH, "flags": [...], "options": {...}}
"""

import gc
import json
import os
import sys
import types

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib", "python"))

import ulpscope
import ulpscope._recording


def run(program, flags):
    """As the interpreter runs a program that it is given."""
    sys.argv = [program, *flags]
    sys.path[0] = os.path.dirname(program)
    main = types.ModuleType("__main__")
    main.__file__ = program
    sys.modules["__main__"] = main
    with open(program, encoding="utf-8") as file:
        exec(compile(file.read(), program, "exec"), main.__dict__)


def record(program, variant):
    with ulpscope.record(variant["dump"], **variant["options"]):
        run(program, variant["flags"])


def in_a_child(function, *arguments):
    """Calls this in a process of its own, which ends with 0."""
    child = os.fork()
    if child == 0:
        function(*arguments)
        sys.exit()
    _, status = os.waitpid(child, 0)
    assert status == 0, f"{arguments} ended with {os.waitstatus_to_exitcode(status)}"


def main():
    variants = [json.loads(line) for line in sys.stdin]
    ulpscope._recording._recorder_library()  # before PyTorch: it sees the threads that this creates
    import torch._dynamo  # noqa: F401  (which the first optimizer imports)

    gc.freeze()
    for variant in variants:
        in_a_child(record, os.path.abspath(sys.argv[1]), variant)


if __name__ == "__main__":
    main()

"""The copy of the product that takes every tensor for one on a device, and a program that it records."""

import argparse
import json
import os
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import recorded  # noqa: E402


class Product:
    def __init__(self, arguments, folder, program):
        self.ulpscope, self.bin, self.folder = os.path.join(arguments.twin, "ulpscope"), arguments.bin, folder
        self.program = [os.path.join(self.bin, program[0]), *program[1:]]

    def record(self, name, *options, flags=()):
        """A valid dump, of a program that was not affected."""
        dump = os.path.join(self.folder, name)
        command = [*self.program, *flags]
        printed = recorded.run([self.ulpscope, "record", "-o", dump, *options, "--", *command])
        assert printed == recorded.run(command), f"{name} was noticed"
        recorded.run([self.ulpscope, "verify", dump])
        return dump

    def events(self, dump):
        return [recorded.to_event(line)
                for line in recorded.run([os.path.join(self.bin, "list_events"), dump]).splitlines()]

    def compare(self, reference, candidate):
        return json.loads(recorded.run([self.ulpscope, "compare", reference, candidate, "--format", "json"],
                                       codes=(0, 1)))

    def inspect(self, dump, path):
        return recorded.run([self.ulpscope, "inspect", dump, path])


def check(problems, program, description):
    """Prints what `problems` yields of a program; 1 if that is anything."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--twin", required=True)
    with tempfile.TemporaryDirectory(prefix="ulpscope-twin-") as folder:
        wrong = list(problems(Product(parser.parse_args(), folder, program)))
    for sentence in wrong:
        print(f"WRONG: {sentence}", file=sys.stderr)
    return 1 if wrong else 0

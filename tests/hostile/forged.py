"""Segments forged by someone who knows the format, with every digest correct.

forged.py ULPSCOPE DUMPS: with 512 MiB of memory, each command ends with an answer or with an error in one
sentence, and writes only to its own outputs.
"""

import collections
import os
import subprocess
import sys
import tempfile

import commands

ESCAPED = "/tmp/ulpscope-escaped"
SOUND = ("as_it_should_be", "content_in_a_hole_of_256_GiB")


def main():
    ulpscope, dumps = commands.begin(sys.argv)
    rows, failures = collections.Counter(), []
    other = os.path.join(dumps, "other")
    for name in sorted(os.listdir(os.path.join(dumps, "forged"))):
        dump = os.path.join(dumps, "forged", name)
        with tempfile.TemporaryDirectory() as output:
            for arguments in commands.commands(dump, other, output):
                words = " ".join(arguments).replace(dumps + "/", "")
                try:
                    result = commands.run(ulpscope, arguments)
                except subprocess.TimeoutExpired:
                    failures.append(f"{words}: does not end")
                    continue
                said = (result.stdout + result.stderr).decode(errors="replace")
                if result.returncode not in (0, 1, 2) or "ulpscope; please report" in said:
                    failures.append(f"{words}: exit code {result.returncode}: {said[-300:]}")
                elif "not enough memory" in said:
                    failures.append(f"{words}: asks for too much memory")
                elif result.returncode == 2 and not said:
                    failures.append(f"{words}: says nothing")
                elif name in SOUND and arguments[0] == "verify" and result.returncode:
                    failures.append(f"{words}: it must not be refused: all its digests are right")
                rows[f"{arguments[0]}: exit code {result.returncode}"] += 1
        for path in os.listdir("/tmp"):
            if os.path.join("/tmp", path).startswith(ESCAPED):
                failures.append(f"{name}: something was written to {path}")
    return commands.finish(rows, failures)


if __name__ == "__main__":
    sys.exit(main())

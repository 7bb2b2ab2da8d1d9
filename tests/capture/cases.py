"""The command line of a script that checks named cases."""

import argparse
import sys
import tempfile


def main(description, cases, problems):
    """Checks the case that is named, or lists all. `problems(case, bin, folder)` yields a sentence for each
    thing that is wrong; the exit code says whether there was one."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--bin")
    parser.add_argument("--list", action="store_true", help="names of all cases")
    parser.add_argument("name", nargs="?", choices=list(cases))
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(cases))
        sys.exit(0)
    with tempfile.TemporaryDirectory(prefix="ulpscope-cases-") as folder:
        found = list(problems(cases[arguments.name], arguments.bin, folder))
    for sentence in found:
        print(f"WRONG {arguments.name}: {sentence}")
    sys.exit(1 if found else 0)

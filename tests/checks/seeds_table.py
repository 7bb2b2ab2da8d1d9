#!/usr/bin/env python3
"""Fails unless lib/compare/report/SEEDS.md has all its rows and every test that it names is there.

    seeds_table.py SEEDS.md BUILD_FOLDER [--only PROGRAM | --without PROGRAM]

PROGRAM is a unit test: with --only its tests alone must be there, with --without all but its.
"""

import argparse
import json
import re
import subprocess
import sys

ITEMS = 41


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("table")
    parser.add_argument("build")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--only")
    choice.add_argument("--without")
    given = parser.parse_args()

    def belongs(name):
        if given.only:
            return name.startswith(given.only + ".")
        return not (given.without and name.startswith(given.without + "."))

    with open(given.table, encoding="utf-8") as file:
        rows = [line.strip().strip("|").split(" | ") for line in file if re.match(r"\| \d+ \|", line)]
    listed = subprocess.run(["ctest", "--show-only=json-v1"], cwd=given.build, check=True,
                            capture_output=True, text=True).stdout
    tests = {test["name"] for test in json.loads(listed)["tests"]}
    wrong = [] if [int(row[0]) for row in rows] == list(range(1, ITEMS + 1)) else ["rows are missing"]
    for row in rows:
        last = row[-1].split(";")[0]
        named = [name for name in re.findall(r"`([^`]+)`", last) if "." in name]
        wrong += [f"item {row[0]}: no test is called {name}"
                  for name in named if belongs(name) and name not in tests]
        if not row[-1].strip():
            wrong.append(f"item {row[0]} has neither a test nor a reason")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

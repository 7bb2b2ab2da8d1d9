#!/usr/bin/env python3
"""Folders of lib and cli include only headers of those that the tables in lib/README.md let them
use, and no folder uses one that uses it.

    includes.py REPOSITORY
"""

import os
import re
import sys

SOURCES = (".cpp", ".hpp", ".cu", ".cuh", ".c", ".h", ".def")


def read_tables(readme):
    """What each folder, named in the first column, may use besides its own headers and the public
    ones: the folders and single headers in the last column. Other words there are libraries."""
    may_use = {}
    with open(readme, encoding="utf-8") as file:
        for row in re.findall(r"^\| `([^`]+)` \|.*\|([^|]*)\|$", file.read(), re.MULTILINE):
            may_use[row[0]] = re.findall(r"`([^`]+)`", row[1])
    return may_use


def folder_of(path, may_use):
    """The folder of the tables that a path is in; None for a public or generated header."""
    folders = [folder for folder in may_use if path.startswith(folder + "/")]
    return max(folders, key=len) if folders else None


def sources(repository):
    """Each source file as includes spell it, and its text: below lib, and below cli's folders."""
    for top, base in (("lib", "lib"), ("cli", ".")):
        for place, _, names in os.walk(os.path.join(repository, top)):
            for name in names:
                path = os.path.relpath(os.path.join(place, name), os.path.join(repository, base))
                if name.endswith(SOURCES) and not path.startswith("include/"):
                    with open(os.path.join(place, name), encoding="utf-8") as file:
                        yield path, file.read()


def cycles(may_use):
    """Folders that use each other, directly or through others."""
    reached = {}

    def reach(folder):
        if folder not in reached:
            reached[folder] = set()  # of a cycle: completed by whoever began it
            for other in may_use.get(folder, []):
                if other in may_use:
                    reached[folder] |= {other} | reach(other)
        return reached[folder]

    return [f"{folder} uses itself through {', '.join(sorted(reached[folder]))}"
            for folder in may_use if folder in reach(folder)]


def main():
    repository = sys.argv[1]
    may_use = read_tables(os.path.join(repository, "lib", "README.md"))
    wrong = cycles(may_use) if may_use else ["lib/README.md has no table of folders"]
    for path, text in sources(repository):
        folder = folder_of(path, may_use)
        if folder is None:
            if os.path.dirname(path) not in ("", "cli"):
                wrong.append(f"{path}: lib/README.md has no row for its folder")
            continue
        for header in re.findall(r'^\s*#\s*include "([^"]+)"', text, re.MULTILINE):
            other = folder_of(header, may_use)
            if other not in (None, folder, *may_use[folder]) and header not in may_use[folder]:
                wrong.append(f"{path} includes {header}: {folder} may use "
                             f"{', '.join(may_use[folder]) or 'no other folder'}")
    print("\n".join(sorted(wrong)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

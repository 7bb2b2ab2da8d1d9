#!/usr/bin/env python3
"""Folders of lib include only headers of those that the table in lib/README.md lets them use.

    includes.py LIB
"""

import os
import re
import sys


def read_table(readme):
    """What each folder, named in the first column, may use besides its own headers and the public
    ones: the folders and single headers in the last column. Other words there are libraries."""
    may_use = {}
    with open(readme, encoding="utf-8") as file:
        for row in re.findall(r"^\| `([^`]+)` \|.*\|([^|]*)\|$", file.read(), re.MULTILINE):
            may_use[row[0]] = re.findall(r"`([^`]+)`", row[1])
    return may_use


def folder_of(path, may_use):
    """The folder of the table that a path below lib is in; None for a public header."""
    folders = [folder for folder in may_use if path.startswith(folder + "/")]
    return max(folders, key=len) if folders else None


def main():
    lib = sys.argv[1]
    may_use = read_table(os.path.join(lib, "README.md"))
    wrong = [] if may_use else ["lib/README.md has no table of folders"]
    for place, _, names in os.walk(lib):
        for name in names:
            path = os.path.relpath(os.path.join(place, name), lib)
            folder = folder_of(path, may_use)
            if folder is None and os.sep in path and not path.startswith(("include", "cmake")):
                wrong.append(f"{path}: lib/README.md has no row for its folder")
            if folder is None or not name.endswith((".cpp", ".hpp", ".cu", ".cuh", ".c", ".h", ".def")):
                continue
            with open(os.path.join(place, name), encoding="utf-8") as file:
                included = re.findall(r'^\s*#\s*include "([^"]+)"', file.read(), re.MULTILINE)
            for header in included:
                other = folder_of(header, may_use)
                if other not in (None, folder, *may_use[folder]) and header not in may_use[folder]:
                    wrong.append(f"{path} includes {header}: {folder} may use "
                                 f"{', '.join(may_use[folder]) or 'no other folder'}")
    print("\n".join(sorted(wrong)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

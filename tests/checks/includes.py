#!/usr/bin/env python3
"""Folders of lib include only headers of those that lib/README.md lets them use.

    includes.py LIB
"""

import os
import re
import sys

# Folders, or single headers, that each may include besides its own and the public ones.
MAY_USE = {
    "core": [],
    "facts": [],
    "ring": ["core"],
    "device": ["core"],
    "dump": ["ring", "core"],
    "compare/model": ["facts", "core"],
    "compare/align": ["compare/model", "facts", "core"],
    "compare/measure": ["compare/align", "compare/model", "facts", "core"],
    "compare/diff": ["compare/measure", "compare/align", "compare/model", "facts", "core"],
    "compare/report": ["compare/diff", "compare/measure", "compare/align", "compare/model", "facts", "core"],
    "compare": ["compare/report", "compare/diff", "compare/measure", "compare/align", "compare/model", "core"],
    "compare/together": ["compare", "compare/report", "compare/diff", "compare/measure", "compare/model", "core"],
    "mpi": ["compare/together"],
    "replay": ["core"],
    "capture": ["preload", "ring", "device", "facts", "core"],
    "preload": ["ring/shut_out_file.h"],
    "program": ["preload", "capture/program_calls.hpp"],
}


def folder_of(path):
    """The folder of the table that a path below lib is in; None for a public header."""
    folders = [folder for folder in MAY_USE if path.startswith(folder + "/")]
    return max(folders, key=len) if folders else None


def main():
    lib = sys.argv[1]
    wrong = []
    for place, _, names in os.walk(lib):
        for name in names:
            path = os.path.relpath(os.path.join(place, name), lib)
            folder = folder_of(path)
            if folder is None or not name.endswith((".cpp", ".hpp", ".cu", ".cuh", ".c", ".h", ".def")):
                continue
            with open(os.path.join(place, name), encoding="utf-8") as file:
                included = re.findall(r'^\s*#\s*include "([^"]+)"', file.read(), re.MULTILINE)
            for header in included:
                other = folder_of(header)
                if other not in (None, folder, *MAY_USE[folder]) and header not in MAY_USE[folder]:
                    wrong.append(f"{path} includes {header}: {folder} may use "
                                 f"{', '.join(MAY_USE[folder]) or 'no other folder'}")
    print("\n".join(sorted(wrong)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

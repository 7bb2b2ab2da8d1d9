"""The `ulpscope` command: `python -m ulpscope record -- python train.py`."""

import os
import sys

from ._installation import command


def main() -> None:
    try:
        path = command()
    except FileNotFoundError as error:
        sys.exit(f"ulpscope: error: {error}")
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()

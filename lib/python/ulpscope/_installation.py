"""Where the command and the libraries of this installation are."""

import glob
import os
import shutil
import subprocess
import sys

from ._errors import Error

_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def command() -> str:
    """The path of the `ulpscope` command: ULPSCOPE_BINARY, that of this package, the one on PATH.

    Raises:
        Error: there is none.
    """
    given = os.environ.get("ULPSCOPE_BINARY")
    if given:
        if os.access(given, os.X_OK):
            return os.path.abspath(given)
        raise Error(f"ULPSCOPE_BINARY names '{given}', which cannot be run")
    own = os.path.join(_PACKAGE, "_native", "bin", "ulpscope")
    if os.access(own, os.X_OK):
        return own
    on_path = shutil.which("ulpscope")
    if on_path and os.path.realpath(on_path) != os.path.realpath(sys.argv[0]):
        return on_path
    raise Error("the command 'ulpscope' was not found: install the package again")


def run(*arguments: str) -> subprocess.CompletedProcess:
    """Runs the command.

    Raises:
        Error: it could not do what was asked for; the message is the command's.
    """
    done = subprocess.run([command(), *arguments], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) and not done.stdout:
        raise Error(done.stderr.strip().removeprefix("ulpscope: error: "))
    return done


def _libraries() -> str:
    return os.path.normpath(os.path.join(os.path.dirname(os.path.realpath(command())), "..", "lib"))


def recorder_library() -> str:
    """The library through which a process records itself.

    Raises:
        Error: there is none.
    """
    found = sorted(glob.glob(os.path.join(_libraries(), "libulpscope.so*")))
    if not found:
        raise Error(f"libulpscope.so is not in '{_libraries()}': install the package again")
    return found[0]


def hooks() -> str:
    """The folder of the hooks for Python programs.

    Raises:
        Error: there is none.
    """
    for folder in (os.path.join(_libraries(), "ulpscope", "python"), os.path.join(_libraries(), "python")):
        if os.path.isdir(folder):
            return folder
    raise Error(f"the hooks are not in '{_libraries()}': install the package again")

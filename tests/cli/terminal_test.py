"""terminal_test.py ULPSCOPE DUMPS CASE: what is printed at a terminal of 80 and of 120 columns."""

import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios

ulpscope, dumps, case = sys.argv[1:4]
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def read_to_end(terminal):
    text = b""
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # the other side is closed
            break
        if not chunk:
            break
        text += chunk
    os.close(terminal)
    return text


def at_terminal(arguments, columns, environment=None):
    """Everything a command prints to a terminal with that many columns."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    variables = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "CLICOLOR_FORCE")}
    variables |= {"TERM": "xterm"} | (environment or {})
    process = subprocess.Popen([ulpscope, *arguments], cwd=dumps, env=variables,
                               stdin=subprocess.DEVNULL, stdout=side, stderr=side)
    os.close(side)
    text = read_to_end(main)
    process.wait()
    return text.decode().replace("\r\n", "\n")


def commands():
    listed = at_terminal(["-h"], 80).split("commands:\n")[1].split("\n\n")[0]
    return [line.split()[0] for line in listed.splitlines()]


def check_width(arguments, columns, free=lambda line: False):
    for line in ESCAPE.sub("", at_terminal(arguments, columns)).splitlines():
        assert len(line) <= columns or free(line), f"{arguments} at {columns}: {len(line)}: {line}"


def one_screen():
    for arguments in [["-h"], *[[command, "-h"] for command in commands()]]:
        lines = at_terminal(arguments, 80).splitlines()
        assert len(lines) <= 24, f"{arguments}: {len(lines)} lines"


def widths():
    is_command = lambda line: line.startswith("  ulpscope ") or " try " in line
    for columns in (80, 120):
        for command in commands():
            check_width([command, "-h"], columns, is_command)
            check_width([command, "--help"], columns, is_command)
        check_width(["--help"], columns)
        check_width(["explain"], columns)
        check_width(["compare", "reference", "threads"], columns, is_command)
        check_width(["compare", "reference", "rate"], columns, is_command)
        check_width(["compare", "reference", "killed"], columns, is_command)
        check_width(["env", "reference", "threads", "--all"], columns)
        check_width(["inspect", "reference"], columns)


def colours():
    colourful = lambda text: ESCAPE.search(text) is not None
    report = ["compare", "reference", "threads"]
    assert colourful(at_terminal(report, 80))
    assert colourful(at_terminal(["explain", "threads"], 80))
    assert not colourful(at_terminal(report, 80, {"NO_COLOR": "1"}))
    assert not colourful(at_terminal(report, 80, {"TERM": "dumb"}))
    assert not colourful(at_terminal(report, 80, {"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}))
    assert not colourful(at_terminal([*report, "--color", "never"], 80))
    assert colourful(at_terminal([*report, "--color", "always"], 80, {"NO_COLOR": "1"}))
    assert colourful(at_terminal(report, 80, {"ULPSCOPE_COLOR": "always", "NO_COLOR": "1"}))
    piped = lambda variables: subprocess.run([ulpscope, *report], cwd=dumps, text=True,
                                             capture_output=True, env=variables).stdout
    bare = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    assert not colourful(piped(bare))
    assert colourful(piped(bare | {"CLICOLOR_FORCE": "1"}))


def same_text_without_colour():
    report = ["compare", "reference", "threads"]
    assert ESCAPE.sub("", at_terminal(report, 80)) == at_terminal(report, 80, {"NO_COLOR": "1"})


def progress():
    """While reading takes long the terminal says so, and the line goes away."""
    if shutil.which("strace") is None:
        sys.exit(77)
    main, side = pty.openpty()
    slowly = ["strace", "-f", "-qq", "-o", os.devnull, "-P", "reference/rank0000/segment-000000.h5", "-e",
              "trace=pread64", "-e", "inject=pread64:delay_enter=1500000:when=1"]
    variables = os.environ | {"ASAN_OPTIONS": "detect_leaks=0"}  # which cannot be looked for under strace
    process = subprocess.Popen([*slowly, ulpscope, "compare", "reference", "threads"], cwd=dumps, stdin=side,
                               env=variables, stdout=subprocess.PIPE, stderr=side, start_new_session=True,
                               preexec_fn=lambda: fcntl.ioctl(2, termios.TIOCSCTTY, 0))
    os.close(side)
    shown = read_to_end(main)
    process.communicate()
    assert b"opening reference: 1 s" in shown and shown.endswith(b"\r\x1b[2K"), shown


globals()[case]()

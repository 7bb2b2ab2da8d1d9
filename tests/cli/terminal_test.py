"""terminal_test.py ULPSCOPE DUMPS CASE: what is printed at a terminal of 80 and of 120 columns."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

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


def wait_until_open(process, path):
    folder = f"/proc/{process.pid}/fd"
    while process.poll() is None:
        for descriptor in os.listdir(folder):
            try:
                if os.readlink(os.path.join(folder, descriptor)) == path:
                    return
            except OSError:  # closed meanwhile
                pass
    raise AssertionError(f"{path} was not read")


def progress():
    """While much is read the terminal says so, and the line goes away."""
    with tempfile.TemporaryDirectory() as work:
        dump = os.path.join(work, "dump")
        os.makedirs(os.path.join(dump, "rank0000"))
        name = os.path.join("rank0000", "segment-000000.h5")
        segment = os.path.join(dump, name)
        pieces, piece = 512, b"\1" * (1 << 20)  # a tenth of a second to read
        with open(os.path.join(dumps, "reference", name), "rb") as known, open(segment, "wb") as file:
            file.write(known.read(12) + struct.pack("<IQ", 0, pieces * len(piece)))
            for _ in range(pieces):
                file.write(piece)
            file.truncate(pieces * len(piece))
        main, side = pty.openpty()
        process = subprocess.Popen([ulpscope, "compare", dump, dump], stdin=side, stdout=subprocess.PIPE,
                                   stderr=side, start_new_session=True,
                                   preexec_fn=lambda: fcntl.ioctl(2, termios.TIOCSCTTY, 0))
        os.close(side)
        wait_until_open(process, segment)
        process.send_signal(signal.SIGSTOP)
        time.sleep(1.5)
        process.send_signal(signal.SIGCONT)
        shown = read_to_end(main)
        process.wait()
        assert b"dump: 1 s" in shown and b"\r\x1b[2Kulpscope: error" in shown, shown


globals()[case]()

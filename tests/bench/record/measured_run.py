"""One run of a training program that prints a line per step, bare or below `ulpscope record`: how long its
steps take, what processor time they cost the program and the writer, how much memory the program needed.
"""

import os
import pty
import re
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass

STEP_LINE = re.compile(rb"step \d+ loss")


@dataclass
class Run:
    """Times are seconds, memory is MiB. Steps are those after the warm-up."""
    step: float  # mean time of a step
    program: float  # processor time of the program, per step
    writer: float  # processor time of the writer, per step
    faults: float  # page faults of the program without a read from disk, per step
    completing: float  # processor time of the writer after the last steps, in all
    program_memory: "Memory"
    writer_memory: "Memory"
    window: tuple  # CLOCK_MONOTONIC at the beginning and the end of the steps
    messages: str  # what came on standard error


@dataclass
class Memory:
    """What is resident, MiB: the most so far, and by kind."""
    peak: float = 0.0
    anonymous: float = 0.0
    files: float = 0.0  # pages of files, which the kernel can take back
    shared: float = 0.0  # the rings among them


@dataclass
class Moment:
    lines: int
    time: float
    program: float
    writer: float
    faults: int
    program_memory: Memory
    writer_memory: Memory


def warm_up(steps):
    return max(1, steps // 10)


def processor_seconds(pid):
    """Of all threads that live. schedstat has nanoseconds, where stat has ticks of 10 ms."""
    seconds = 0.0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
            seconds += int(file.read().split()[0]) * 1e-9
    return seconds


def page_faults(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        return int(file.read().rpartition(")")[2].split()[7])


def memory(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        status = file.read()
    return Memory(*[int(re.search(rf"{name}:\s+(\d+) kB", status)[1]) / 1024
                    for name in ("VmHWM", "RssAnon", "RssFile", "RssShmem")])


def child_named(pid, name):
    """The process `name` (as the kernel cuts it) among the descendants of `pid`, or `pid` itself."""
    waiting = [pid]
    while waiting:
        candidate = waiting.pop()
        with open(f"/proc/{candidate}/comm", encoding="utf-8") as file:
            if file.read().strip() == name[:15]:
                return candidate
        for thread in os.listdir(f"/proc/{candidate}/task"):
            with open(f"/proc/{candidate}/task/{thread}/children", encoding="ascii") as file:
                waiting += [int(child) for child in file.read().split()]
    raise SystemExit(f"{name} was not found below process {pid}")


def look(lines, program, writer):
    return Moment(lines, time.monotonic(), processor_seconds(program),
                  processor_seconds(writer) if writer else 0.0, page_faults(program), memory(program),
                  memory(writer) if writer else Memory())


def run(command, program, steps, cpus):
    """Runs `command`, in which the executable `program` is to make `steps` steps, on these processors.

    A terminal makes the program print its lines at once. The program is sampled twice, after the
    warm-up and shortly before its end, while it runs.
    """
    name = os.path.basename(program)
    last = max(warm_up(steps) + 2, steps - max(1, steps // 20))
    reader, terminal = pty.openpty()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=terminal, stderr=errors, stdin=subprocess.DEVNULL,
                                   preexec_fn=lambda: os.sched_setaffinity(0, cpus))
        os.close(terminal)
        lines, pending, watched, writer, begin, end = 0, b"", 0, 0, None, None
        while True:
            try:
                data = os.read(reader, 65536)
            except OSError:  # the terminal is gone with its last writer
                break
            if not data:
                break
            whole = (pending + data).split(b"\n")
            pending = whole.pop()
            lines += sum(bool(STEP_LINE.match(line)) for line in whole)
            if begin is None and lines > warm_up(steps):
                watched = child_named(process.pid, name)
                recorder = os.path.basename(command[0]) == "ulpscope"
                writer = process.pid if recorder else 0
                begin = look(lines, watched, writer)
            elif begin is not None and end is None and lines >= last:
                end = look(lines, watched, writer)
        os.close(reader)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        total = processor_seconds(process.pid)  # a process that is not yet reaped still has its times
        process.wait()
        errors.seek(0)
        messages = errors.read().decode(errors="replace")
    if process.returncode != 0:
        code = process.returncode
        how = signal.Signals(-code).name if code < 0 else code
        raise SystemExit(f"{' '.join(command)} ended with {how}:\n{messages}")
    if end is None or end.lines == begin.lines:
        raise SystemExit(f"{' '.join(command)} printed its steps too fast to be watched: more --steps")
    count = end.lines - begin.lines
    return Run((end.time - begin.time) / count, (end.program - begin.program) / count,
               (end.writer - begin.writer) / count, (end.faults - begin.faults) / count,
               total - end.writer if writer else 0.0,
               end.program_memory, end.writer_memory, (begin.time, end.time), messages)

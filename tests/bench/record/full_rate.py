"""How fast level full writes: the same bytes, in the same pieces, recorded and through write(2)."""

import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time

from measured_run import processor_seconds

SIZES = [1 << 10, 64 << 10, 4 << 20]
BYTES = 256 << 20
MOST_ROUNDS = 5
TOOK = re.compile(rb"took ([\d.]+) s, ([\d.]+) s")


def size_text(size):
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


def taken(output):
    seconds, processor = TOOK.search(output).groups()
    return float(seconds), float(processor)


def plain(program, size, file):
    """Seconds, and seconds of processor time, of write(2)."""
    output = subprocess.check_output([program, str(size), str(BYTES), file])
    os.remove(file)
    return taken(output)


def recorded(ulpscope, program, size, folder):
    """From the first value to the complete dump: seconds, and the writer's processor time."""
    dump = os.path.join(folder, "dump")
    process = subprocess.Popen([ulpscope, "record", "--level", "full", "-o", dump, "--", program, str(size),
                                str(BYTES)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    begin, processor = time.monotonic(), processor_seconds(process.pid)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    seconds, processor = time.monotonic() - begin, processor_seconds(process.pid) - processor
    _, messages = process.communicate()
    written = sum(entry.stat().st_size for entry in os.scandir(os.path.join(dump, "rank0000")))
    shutil.rmtree(dump)
    if process.returncode != 0 or written < BYTES:
        raise SystemExit(f"{program} was not recorded as a whole: {messages.decode()}")
    return seconds, processor


def print_table(binaries, rounds, scratch):
    program = os.path.join(binaries, "produce_values")
    if not os.path.exists(program):
        print("The rate of full recording was not measured: the target produce_values is not built.\n", flush=True)
        return
    folder = tempfile.mkdtemp(prefix="ulpscope-bench-", dir=scratch)
    file = os.path.join(folder, "plain")
    print(f"Level full, {BYTES >> 20} MiB in values of one size: the rate divided by that of write(2) of the same bytes in the "
          "same pieces, median and range. The writer's processor time alone, and the whole "
          "recording from the first value to the complete dump.\n")
    print("| values of | rounds | writer's processor time | range | whole recording | range "
          "| the ops bare | write(2) | recorded |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    try:
        for size in SIZES:
            processor, whole, times = [], [], []
            for _ in range(min(rounds, MOST_ROUNDS)):
                bare, _ = taken(subprocess.check_output([program, str(size), str(BYTES)]))
                before = plain(program, size, file)
                full = recorded(os.path.join(binaries, "ulpscope"), program, size, folder)
                after = plain(program, size, file)
                written = [(a + b) / 2 for a, b in zip(before, after)]
                whole.append(written[0] / full[0])
                processor.append(written[1] / full[1])
                times.append((bare, written[0], full[0]))
            shares = " | ".join(f"{statistics.median(values):.2f} | {min(values):.2f}-{max(values):.2f}"
                                for values in (processor, whole))
            medians = " | ".join(f"{statistics.median(values):.2f} s" for values in zip(*times))
            print(f"| {size_text(size)} | {len(whole)} | {shares} | {medians} |", flush=True)
        print()
    finally:
        shutil.rmtree(folder)
    print_contents_alone(os.path.join(binaries, "bench_dump"))


def print_contents_alone(bench_dump):
    """The writer given contents only, without events, rings or a program."""
    if not os.path.exists(bench_dump):
        return
    lines = subprocess.check_output([bench_dump], text=True).splitlines()
    print("Contents without events, straight to the dump (bench_dump):\n")
    print("\n".join(f"- {line.removeprefix('content: ')}" for line in lines if line.startswith("content: ")) + "\n",
          flush=True)

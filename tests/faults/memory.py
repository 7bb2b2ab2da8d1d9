"""Resident memory of both processes during one long recording."""

import pathlib
import re
import time

from bench import Row, Wrong, require

SAMPLES = 12
LONGEST_RUN = 1800  # seconds
TRIAL = 2000  # steps, or ops, that show how many events one makes
GROWTH = 8 << 20  # bytes that are not growth: pages of a ring and of code that are touched late
RATIO = 1.10


def resident(pid):
    """Bytes, or None when the process is gone."""
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    found = re.search(r"VmRSS:\s+(\d+) kB", text)
    return int(found.group(1)) << 10 if found else None


def watch(recorded):
    """Time and resident bytes of program and writer, ten times a second."""
    pid = recorded.wait_for_program()
    begin, samples = time.monotonic(), []
    while recorded.writer.poll() is None:
        sizes = resident(pid), resident(recorded.writer.pid)
        if None in sizes:
            break
        samples.append((time.monotonic() - begin, *sizes))
        time.sleep(0.1)
    return samples


def peaks(samples, which):
    """The largest size in each of SAMPLES parts of the run."""
    parts = [samples[i * len(samples) // SAMPLES:(i + 1) * len(samples) // SAMPLES]
             for i in range(SAMPLES)]
    return [max(sample[which] for sample in part) for part in parts if part]


def show(name, program, writer):
    print(f"resident MiB, {name}, the largest in each twelfth of the run")
    for who, sizes in (("program", program), ("writer", writer)):
        print(f"  {who:8}" + "".join(f"{size / (1 << 20):8.1f}" for size in sizes), flush=True)


def require_flat(who, sizes):
    """The last third needs no more than the middle third did."""
    third = len(sizes) // 3
    middle, last = max(sizes[third:2 * third]), max(sizes[2 * third:])
    require(last <= middle * RATIO + GROWTH,
            f"the {who} grew from {middle >> 20} MiB to {last >> 20} MiB")


def one(bench, name, hazard, wanted, options):
    row = Row(name, tried=1)
    trial = bench.record(bench.command(hazard, TRIAL), options)
    trial.outcome()
    per_round = trial.status()["counts"]["events"] / TRIAL
    trial.remove()
    command = bench.command(hazard, int(wanted / per_round))
    bare = bench.bare(command, limit=LONGEST_RUN)
    recorded = bench.record(command, options)
    samples = watch(recorded)
    outcome = recorded.outcome()
    try:
        require(outcome.same_as(bare), "the program gave something else")
        status = recorded.status()
        require(status["complete"], f"incomplete: {status['reason']}")
        events = status["counts"]["events"]
        require(events >= 0.99 * wanted, f"only {events} events were recorded")
        row.note = f"{events:,} events"
        program, writer = peaks(samples, 1), peaks(samples, 2)
        show(f"{name}, {events:,} events", program, writer)
        require_flat("program", program)
        require_flat("writer", writer)
        row.sound = 1
    except Wrong as wrong:
        row.failures.append(str(wrong))
    recorded.remove()
    return row


def run(bench):
    events = 300_000 if bench.brief else 10_000_000
    # A short run comes to its steady state early only if it publishes early.
    options = ("--segment-steps", "100") if bench.brief else ()
    yield one(bench, "memory, training steps", "train", events, options)
    if not bench.brief:
        yield one(bench, "memory, ops without steps", "tiny-ops", events, ())

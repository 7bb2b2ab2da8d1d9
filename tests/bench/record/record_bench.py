#!/usr/bin/env python3
"""What recording costs: a program recorded against the same program bare, in tables for README.md.

    cmake --build build/release --target produce_values
    python3 tests/bench/record/record_bench.py --build build/release --minutes 20

A round runs every mode once, each next to a bare run; the order of the modes turns from round to round.
A ratio is taken between neighbors. Every configuration gets its share of the time, and what one leaves goes to
those after it. Two further tables follow: what full recording reaches of the rate of write(2), and where the time goes
(`--tables steps,full,where` chooses). Progress goes to standard error.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict

import full_rate
import where_time_goes
from measured_run import run

CONFIGURATIONS = {  # name: program and options, steps
    "MLP of tiny tensors, width 16":
        (["layernorm_mlp", "--width", "16", "--layers", "4", "--batch", "8"], 400),
    "LSTM copier": (["lstm_copier"], 200),
    "MLP, width 512": (["layernorm_mlp", "--width", "512", "--layers", "2"], 80),
    "digits ResNet, width 16": (["digits_resnet", "--width", "16"], 16),
    "transformer, d 256, 4 layers": (["transformer_encoder", "--width", "256", "--layers", "4"], 7),
    "digits ResNet, width 64": (["digits_resnet", "--width", "64"], 7),
}

MODES = {
    "digest": ["--level", "digest"],
    "digest, verify off": ["--level", "digest", "--verify", "off"],
    "layers": ["--level", "digest", "--capture", "layers"],
    "stats": ["--level", "stats"],
    "full": ["--level", "full"],
    "loaded, outside --steps": ["--level", "digest", "--steps", "1000000-"],
}

# The C library returns memory at the top of its heap and requests it again, or does not, depending on where that top
# happens to be: bare, loaded and recorded runs of one program differ by thousands of page faults a step. Keeping the
# heap, in both runs of a pair, leaves what recording costs.
STEADY_HEAP = ["env", "MALLOC_TRIM_THRESHOLD_=1000000000000", "MALLOC_MMAP_THRESHOLD_=33554432"]

FEWEST_ROUNDS = 3
BYTES = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}


def tell(text):
    print(text, file=sys.stderr, flush=True)


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def head(*cells):
    row(*cells)
    row(*["---"] * len(cells))


def told_bytes(pattern, messages):
    """A size in the line that the recording ends with, 0 if there is none."""
    found = re.search(pattern.format(r"([\d.]+) ([kMGT]?B)"), messages)
    return float(found[1]) * BYTES[found[2]] if found else 0


def modes_for(threads, chosen):
    """Full recording is bound by the disk, whatever the threads: it is measured with one."""
    return {mode: options for mode, options in MODES.items()
            if any(part in mode for part in chosen.split(",")) and not (mode == "full" and threads > 1)}


class Configuration:
    def __init__(self, name, binaries, scratch, threads, steps, heap="steady"):
        command, own_steps = CONFIGURATIONS[name]
        self.name = name
        self.threads = threads
        self.steps = steps or own_steps
        self._prefix = STEADY_HEAP if heap == "steady" else []
        self._program = os.path.join(binaries, command[0])
        self._options = [*command[1:], "--threads", str(threads)]
        self._ulpscope = os.path.join(binaries, "ulpscope")
        self._scratch = scratch
        self._cpus = os.sched_getaffinity(0)

    def _command(self, steps):
        return [*self._prefix, self._program, *self._options, "--steps", str(steps)]

    def bare(self):
        return run(self._command(self.steps), self._program, self.steps, self._cpus)

    def recorded_in(self, mode):
        steps = self.steps_in(mode)
        with tempfile.TemporaryDirectory(prefix="ulpscope-bench-", dir=self._scratch) as folder:
            return run([self._ulpscope, "record", *MODES[mode], "-o", os.path.join(folder, "dump"), "--",
                        *self._command(steps)], self._program, steps, self._cpus)

    def events_per_step(self):
        with tempfile.TemporaryDirectory(prefix="ulpscope-bench-", dir=self._scratch) as folder:
            dump = os.path.join(folder, "dump")
            subprocess.run([self._ulpscope, "record", "--steps", "2-4", "-o", dump, "--", *self._command(8)],
                           check=True, capture_output=True)
            with open(os.path.join(dump, "status.json"), encoding="utf-8") as file:
                counts = json.load(file)["counts"]
        return counts["events"] / counts["steps"]

    def steps_in(self, mode):
        """A step at level full takes several bare ones, so fewer are enough."""
        return max(5, self.steps // 3) if mode == "full" else self.steps

    def verified_per_step(self, mode, measured):
        return told_bytes(r"{} verified", measured.messages) / self.steps_in(mode)

    def left_per_step(self, mode, measured):
        """Bytes of the dump; what it holds once is shared out among the steps."""
        return told_bytes(r"values, {}, ", measured.messages) / self.steps_in(mode)


def rotated(modes, turn):
    turn %= len(modes)
    return modes[turn:] + modes[:turn]


def measure(configuration, modes, rounds, seconds):
    """Pairs (bare, recorded) of every mode: bare, mode, mode, bare, mode, mode, bare and so on."""
    pairs = {mode: [] for mode in modes}
    begin, longest = time.monotonic(), 0.0
    for turn in range(rounds):
        round_begin = time.monotonic()
        if turn >= min(rounds, FEWEST_ROUNDS) and round_begin + longest > begin + seconds:
            break
        order = rotated(list(modes), turn)
        before = configuration.bare()
        for first in range(0, len(order), 2):
            pairs[order[first]].append((before, configuration.recorded_in(order[first])))
            second = order[first + 1:first + 2]
            recorded = [configuration.recorded_in(mode) for mode in second]
            before = configuration.bare()
            for mode, measured in zip(second, recorded):
                pairs[mode].append((before, measured))
        longest = max(longest, time.monotonic() - round_begin)
        tell(f"{configuration.name}, {configuration.threads} threads: round {turn + 1}, "
             f"{time.monotonic() - round_begin:.0f} s")
    return pairs


def spread(values, digits=2):
    return f"{min(values):.{digits}f}-{max(values):.{digits}f}"


def milliseconds(seconds):
    return f"{seconds * 1e3:.3g} ms"


def print_step_table(results):
    print("Ratios recorded/bare, median and range over the pairs: time of a step, processor time of the program, and "
          "processor time of program and writer together.\n")
    head("program", "threads", "bare step", "mode", "pairs", "step time", "range", "program", "range",
         "with writer")
    for configuration, _, pairs in results:
        bares = [bare.step for of_mode in pairs.values() for bare, _ in of_mode]
        first = (configuration.name, configuration.threads, milliseconds(statistics.median(bares)))
        for mode, of_mode in pairs.items():
            step = [recorded.step / bare.step for bare, recorded in of_mode]
            program = [recorded.program / bare.program for bare, recorded in of_mode]
            together = [(recorded.program + recorded.writer) / bare.program
                        for bare, recorded in of_mode]
            row(*first, mode, len(of_mode), f"{statistics.median(step):.3f}", spread(step),
                f"{statistics.median(program):.3f}", spread(program),
                f"{statistics.median(together):.3f}")
            first = ("", "", "")
    print()


def more(kind):
    """What the recorded program has more of one kind of memory."""
    return lambda bare, recorded: (getattr(recorded.program_memory, kind)
                                   - getattr(bare.program_memory, kind))


def print_cost_table(results):
    print("What the ratios are made of, medians. ns per event: the processor time that the program has more, by the events of "
          "all its ops. Completing: processor time of the writer after the last step. Memory: the most that was resident "
          "(VmHWM) of the program bare, what it is more when recorded (of which memory of its own, pages of "
          "files, shared memory), and that of the writer.\n")
    head("program", "threads", "events per step", "mode", "ns per event", "writer, ns per event",
         "completing", "verified per step", "page faults", "memory bare", "more", "own, files, shared",
         "writer's memory")
    for configuration, events, pairs in results:
        first = (configuration.name, configuration.threads, f"{events:,.0f}")
        for mode, of_mode in pairs.items():
            def median(value):
                return statistics.median(value(bare, recorded) for bare, recorded in of_mode)
            faults = median(lambda bare, _: bare.faults)
            more_faults = median(lambda bare, recorded: recorded.faults - bare.faults)
            verified = median(lambda _, recorded: configuration.verified_per_step(mode, recorded))
            row(*first, mode,
                f"{median(lambda bare, recorded: recorded.program - bare.program) / events * 1e9:.0f}",
                f"{median(lambda _, recorded: recorded.writer) / events * 1e9:.0f}",
                milliseconds(median(lambda _, recorded: recorded.completing)),
                f"{verified / 1e6:.2f} MB" if verified else "",
                f"{faults:.0f} {more_faults:+.0f}",
                f"{median(lambda bare, _: bare.program_memory.peak):.0f} MiB",
                f"{median(more('peak')):+.1f} MiB",
                ", ".join(f"{median(more(kind)):+.1f}" for kind in ("anonymous", "files", "shared")),
                f"{median(lambda _, recorded: recorded.writer_memory.peak):.0f} MiB")
            first = ("", "", "")
    print()


def measure_steps(arguments, binaries, deadline):
    names = [name for name in CONFIGURATIONS if arguments.only in name]
    configurations = [Configuration(name, binaries, arguments.scratch, threads, arguments.steps,
                                    arguments.heap)
                      for name in names for threads in arguments.threads]
    results, events = [], {}
    try:
        for index, configuration in enumerate(configurations):
            if configuration.name not in events:
                events[configuration.name] = configuration.events_per_step()
            share = (deadline - time.monotonic()) / (len(configurations) - index)
            modes = modes_for(configuration.threads, arguments.modes)
            if modes:
                pairs = measure(configuration, modes, arguments.rounds, share)
                results.append((configuration, events[configuration.name], pairs))
    finally:  # a run that fails ends the benchmark, not what was measured before it
        print_step_table(results)
        print_cost_table(results)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="build folder with bin/ulpscope")
    parser.add_argument("--minutes", type=float, default=20, help="about how long all may take")
    parser.add_argument("--rounds", type=int, default=15, help="at most so many")
    parser.add_argument("--threads", type=lambda text: [int(part) for part in text.split(",")],
                        default=[1, 2], help="1,2")
    parser.add_argument("--steps", type=int, help="instead of each program's own number")
    parser.add_argument("--only", default="", help="configurations whose name contains this")
    parser.add_argument("--modes", default="", help="modes whose name contains one of these: digest,layers")
    parser.add_argument("--tables", default="steps,full,where", help="which tables to make")
    parser.add_argument("--heap", choices=["steady", "default"], default="steady",
                        help="whether the program keeps its heap or the C library decides")
    parser.add_argument("--scratch", help="folder on the disk that dumps go to")
    arguments = parser.parse_args()
    begin = time.monotonic()
    binaries = os.path.join(arguments.build, "bin")
    tables = arguments.tables.split(",")

    print(f"Load of the machine before: {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors.\n")
    if "where" in tables:
        where_time_goes.print_table(binaries, CONFIGURATIONS, arguments.only, arguments.scratch)
    if "full" in tables:
        full_rate.print_table(binaries, arguments.rounds, arguments.scratch)
    if "steps" in tables:
        measure_steps(arguments, binaries, begin + 60 * arguments.minutes)
    tell(f"took {(time.monotonic() - begin) / 60:.1f} minutes")


if __name__ == "__main__":
    main()

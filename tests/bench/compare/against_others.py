#!/usr/bin/env python3
"""`ulpscope compare` against h5diff, cmp, NumPy and PyTorch on the same values, in one interleaved run.

    cmake --build build/release --target ulpscope write_runs write_values bench_difference
    python3 tests/bench/compare/against_others.py --build build/release            # 2 x 2 GB, minutes
    python3 tests/bench/compare/against_others.py --build build/release --megabytes 64 --small 5000

Prints Markdown: seconds are medians over the rounds, a ratio is how much longer a different tool takes than
`ulpscope compare` by one process in the same round, its median over the rounds. h5diff is run unchanged and with
malloc set to keep its buffers, which it otherwise maps again for each strip.
Torch is used where this Python, or the wheel in build/torch, has it.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import h5py
import numpy

TUNED = {"MALLOC_MMAP_THRESHOLD_": "1073741824", "MALLOC_TRIM_THRESHOLD_": "4294967296",
         "MALLOC_TOP_PAD_": "1073741824"}
SCENARIOS = ["identical", "sparse", "dense", "unrelated"]
IN_MEMORY = 64 << 20  # bytes of each value that NumPy and Torch compare; they need many times that
GOALS = {  # least ratio to h5diff: as it is, tuned, tuned against two processes
    "identical": (5, 1.5, 3), "sparse": (8, 5, 8), "dense": (12, None, None)}


def run(command, environment=None):
    """Seconds, processor seconds, peak resident MiB and standard output of a command that may find a difference."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env={**os.environ, **(environment or {})})
    output = process.stdout.read()
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        sys.exit(f"{' '.join(command)} failed: {errors.decode()}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output


def files_below(paths):
    for path in paths:
        if os.path.isfile(path):
            yield path
        for folder, _, names in os.walk(path):
            for name in names:
                yield os.path.join(folder, name)


def warm(paths):
    for path in files_below(paths):
        with open(path, "rb", buffering=0) as file:
            while file.read(1 << 24):
                pass


def chill(paths):
    for path in files_below(paths):
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


class Table:
    def __init__(self, rounds):
        self.rounds = rounds
        self.rows = []

    def measure(self, what, tools, prepare=warm):
        """`tools`: (name, paths it reads, function that gives seconds and peak MiB); the first is ours."""
        times = {name: [] for name, _, _ in tools}
        peak = dict.fromkeys(times, 0)
        for _ in range(self.rounds):
            for name, paths, call in tools:
                prepare(paths)
                seconds, memory = call()
                times[name].append(seconds)
                peak[name] = max(peak[name], memory)
        ours = times[tools[0][0]]
        for name, _, _ in tools:
            ratio = statistics.median(other / own for other, own in zip(times[name], ours))
            self.rows.append((what, name, statistics.median(times[name]), ratio, peak[name]))
            print(f"  {what:28} {name:34} {self.rows[-1][2]:9.3f} s  {ratio:8.2f}", file=sys.stderr, flush=True)

    def ratio(self, what, name):
        return next((row[3] for row in self.rows if row[:2] == (what, name)), None)

    def print(self):
        print("| what | tool | s | times ours | peak MiB |\n|---|---|---|---|---|")
        for what, name, seconds, ratio, peak in self.rows:
            print(f"| {what} | {name} | {seconds:.3f} | {ratio:.2f} | {peak:.0f} |")


class Benchmark:
    def __init__(self, arguments):
        self.arguments = arguments
        self.ulpscope = os.path.join(arguments.build, "bin", "ulpscope")
        self.table = Table(arguments.rounds)
        self.folder = tempfile.mkdtemp(prefix="ulpscope-bench-", dir=arguments.work)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, scenario, values, size, per_step):
        """Dumps a and b, a.f32 and b.f32, and a.h5 and b.h5 with a dataset per value."""
        shutil.rmtree(self.folder, ignore_errors=True)
        writer = os.path.join(self.arguments.build, "bin", "write_values")
        subprocess.check_call([writer, self.folder, scenario, str(values), str(size), str(per_step)])
        for side in "ab":
            raw = numpy.memmap(self.path(side + ".f32"), numpy.float32, "r", shape=(values, size // 4))
            with h5py.File(self.path(side + ".h5"), "w") as file:
                for k in range(values):
                    file.create_dataset(f"{k:06d}", data=raw[k])
            del raw

    def ours(self, *options, processes=1):
        """The paths read and the call for Table.measure()."""
        paths = [self.path("a"), self.path("b")]
        command = [self.ulpscope, "compare", *paths, *options, "--format", "json"]
        if processes > 1:
            command = ["mpirun", "--oversubscribe", "-n", str(processes), *command]

        def call():
            seconds, _, peak, output = run(command, {"OMPI_ALLOW_RUN_AS_ROOT": "1",
                                                     "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
            json.loads(output)
            return seconds, peak
        return paths, call

    def command(self, suffix, *command, environment=None):
        paths = [self.path("a" + suffix), self.path("b" + suffix)]

        def call():
            seconds, _, peak, _ = run([*command, *paths], environment)
            return seconds, peak
        return paths, call

    def large(self):
        size = 64 << 20
        total = self.arguments.megabytes << 20
        size = min(size, max(total // 8, 1 << 20))
        values = max(total // size, 1)
        for scenario in self.arguments.scenarios.split(","):
            self.write(scenario, values, size, values)
            what = f"{scenario}, 2 x {values * size / 2**30:.2g} GiB"
            tools = [("ulpscope, 1 process", *self.ours())]
            if shutil.which("mpirun"):
                tools.append(("ulpscope, 2 processes", *self.ours(processes=2)))
            tools += [("h5diff", *self.command(".h5", "h5diff", "-q")),
                      ("h5diff, tuned malloc", *self.command(".h5", "h5diff", "-q", environment=TUNED)),
                      ("cmp", *self.command(".f32", "cmp", "-s"))]
            self.table.measure(what + ", warm", tools)
            self.table.measure(what + ", cold", [tool for tool in tools if "tuned" not in tool[0]], chill)
            self.in_memory(scenario, min(values * size, IN_MEMORY))
        shutil.rmtree(self.folder, ignore_errors=True)

    def in_memory(self, scenario, size):
        """What needs both values in memory, and our kernel on as many bytes: a dump of one value."""
        self.write(scenario, 1, size, 1)
        a, b = (numpy.fromfile(self.path(side + ".f32"), numpy.float32) for side in "ab")

        def timed(work):
            def call():
                start = time.perf_counter()
                try:
                    work()
                except AssertionError:
                    pass
                return time.perf_counter() - start, 0
            return call
        def kernel():
            _, _, peak, output = run([os.path.join(self.arguments.build, "bin", "bench_difference"), "--files",
                                      self.path("a.f32"), self.path("b.f32")])
            return float(output.split()[0]), peak
        tools = [("ulpscope's kernel", [], kernel), ("ulpscope, 1 process", *self.ours()),
                 ("assert_array_max_ulp", [], timed(lambda: numpy.testing.assert_array_max_ulp(a, b, maxulp=8)))]
        torch = imported_torch(self.arguments.build)
        if torch is not None:
            torch.set_num_threads(1)
            x, y = torch.from_numpy(a), torch.from_numpy(b)
            tools.append(("torch.allclose, 1 thread", [], timed(lambda: torch.allclose(x, y))))
        self.table.measure(f"{scenario}, 2 x {size >> 20} MiB, in memory", tools)

    def small(self):
        count = self.arguments.small
        for scenario in ["identical", "dense"]:
            self.write(scenario, count, 1024, 1000)
            what = f"{count:,} values of 1 KB, {scenario}, warm"
            tools = [("ulpscope, digests", *self.ours())]
            if scenario == "dense":
                tools = [("ulpscope, bytes of all (--max-ulp 1)", *self.ours("--max-ulp", "1")), *tools]
            tools += [("h5diff", *self.command(".h5", "h5diff", "-q")),
                      ("h5diff, tuned malloc", *self.command(".h5", "h5diff", "-q", environment=TUNED))]
            self.table.measure(what, tools)
        shutil.rmtree(self.folder, ignore_errors=True)

    def events(self):
        batch = 411
        for scenario in ["identical", "values"]:
            shutil.rmtree(self.folder, ignore_errors=True)
            os.makedirs(self.folder)
            subprocess.check_call([os.path.join(self.arguments.build, "bin", "write_runs"), self.folder, scenario,
                                   str(self.arguments.events // batch), "1", "0"], stdout=subprocess.DEVNULL)
            self.table.measure(f"{self.arguments.events:,} events, digests, {scenario}",
                               [("ulpscope, 1 process", *self.ours())])
        shutil.rmtree(self.folder, ignore_errors=True)

    def memory(self):
        """Peak memory by the size of the dumps: more of the same must not need more."""
        print("\n| dumps | peak MiB | s |\n|---|---|---|")
        most = self.arguments.megabytes
        for megabytes in [most // 4, most // 2, most]:
            self.write("dense", max(megabytes // 16, 1), min(megabytes, 16) << 20, 8)
            for name in "ab":
                os.remove(self.path(name + ".h5"))
            seconds, peak = self.ours("--max-ulp", "1")[1]()
            print(f"| all bytes, 2 x {megabytes} MiB, dense | {peak:.0f} | {seconds:.2f} |", flush=True)
        for steps in [100, 1000, 10000]:
            for scenario in ["identical", "values"]:
                shutil.rmtree(self.folder, ignore_errors=True)
                os.makedirs(self.folder)
                subprocess.check_call([os.path.join(self.arguments.build, "bin", "write_runs"), self.folder, scenario,
                                       str(steps), "1", "0"], stdout=subprocess.DEVNULL)
                seconds, peak = self.ours()[1]()
                print(f"| digests, {steps:,} steps of 411 events, {scenario} | {peak:.0f} | {seconds:.2f} |",
                      flush=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def print_goals(self):
        """Only at the full size: on small dumps starting a process is what takes the time."""
        print("\n| goal | wanted | seen |\n|---|---|---|")
        for scenario, wanted in GOALS.items():
            what = next((row[0] for row in self.table.rows
                         if row[0].startswith(scenario) and row[0].endswith("GiB, warm")), None)
            if what is None:
                continue
            plain = self.table.ratio(what, "h5diff")
            tuned = self.table.ratio(what, "h5diff, tuned malloc")
            two = self.table.ratio(what, "ulpscope, 2 processes")
            seen = [plain, tuned, tuned / two if two else None]
            names = ["h5diff", "h5diff, tuned", "h5diff, tuned, against two processes"]
            for name, least, ratio in zip(names, wanted, seen):
                if least is not None and ratio is not None:
                    print(f"| {scenario}: {name} | {least}x | {ratio:.1f}x |")


def imported_torch(build):
    for place in ["", os.path.join(build, "..", "torch")]:
        if place:
            sys.path.append(os.path.abspath(place))
        try:
            import torch
            return torch
        except Exception as error:  # of a different Python, or without libraries that it needs
            reason = error
    print(f"without torch: {reason}", file=sys.stderr)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="build folder with bin/ulpscope")
    parser.add_argument("--megabytes", type=int, default=2048, help="of either run with all bytes")
    parser.add_argument("--small", type=int, default=100_000, help="small values")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scenarios", default=",".join(SCENARIOS))
    parser.add_argument("--parts", default="large,small,events,memory")
    parser.add_argument("--work", help="folder for the dumps: six times --megabytes")
    arguments = parser.parse_args()
    benchmark = Benchmark(arguments)
    parts = arguments.parts.split(",")
    try:
        for part in ["large", "small", "events"]:
            if part in parts:
                getattr(benchmark, part)()
        benchmark.table.print()
        benchmark.print_goals()
        if "memory" in parts:
            benchmark.memory()
    finally:
        shutil.rmtree(benchmark.folder, ignore_errors=True)


if __name__ == "__main__":
    main()

"""A disk that fails the writer: from the n-th call on, once, or by short writes, for every n."""

import errno
import resource
import shutil
import signal
import subprocess
import time

from bench import Row, Wrong, require

STEPS = 40
LEVELS = {"digest": ("--segment-steps", "8"),
          "full": ("--level", "full", "--segment-steps", "8")}

# What fails, with which error (0: a write of half the bytes), and whether it keeps failing.
FAILURES = (("disk full", errno.ENOSPC, True), ("quota used up", errno.EDQUOT, True),
            ("read-only file system", errno.EROFS, True), ("input/output error", errno.EIO, True),
            ("one input/output error", errno.EIO, False), ("one full moment", errno.ENOSPC, False),
            ("short writes", 0, True), ("interrupted calls", errno.EINTR, False))
WHOLE = ("short writes",)  # after which nothing is missing


class Shim:
    """Preloads the failing disk only into the writer."""

    def __init__(self, bench):
        self.bench = bench
        self.library = (bench.libraries / "libfault_failing_disk.so").resolve()
        self.count = bench.folder / "calls"
        self.count.write_bytes(bytes(8))

    def environment(self, call, error, lasts):
        return {"LD_PRELOAD": str(self.library), "FAULTS_PROCESS": "ulpscope",
                "FAULTS_DIRECTORY": "{dump}", "FAULTS_CALL": str(call),
                "FAULTS_ERRNO": str(error), "FAULTS_LASTS": str(int(lasts)),
                "FAULTS_COUNT": str(self.count)}

    def calls(self):
        """The number of calls since the last query."""
        calls = int.from_bytes(self.count.read_bytes(), "little")
        self.count.write_bytes(bytes(8))
        return calls


def closing_line(said):
    lines = [line for line in said.splitlines() if line]
    return lines[-1] if lines else ""


def check(bench, reference, recorded, outcome, bare, row, whole=False):
    """The program is unharmed, its ending reported, what is published whole, the rest admitted."""
    require(outcome.printed == bare.printed,
            f"the program printed {outcome.printed[-200:]}, not {bare.printed[-200:]}; {outcome.said}")
    require(outcome.code == bare.code, f"record ended with {outcome.code}: {outcome.said}")
    line = closing_line(outcome.said)
    require(line.startswith("ulpscope: "), f"the closing line is '{line}'")
    if list(recorded.dump.glob("rank*/segment-*.h5")):
        bench.verify(recorded.dump, unfinished=True)
        _, _, marked = bench.events(recorded.dump)
        bench.nothing_differs(reference.dump, recorded.dump)
        says_complete = "incomplete" not in line and "unrecorded" not in line
        if says_complete:
            row.lost += max(0, outcome.ops - marked)
        require(not whole or says_complete, f"nothing was lost, but '{line}'")
    else:
        require("incomplete" in line or "unrecorded" in line, f"nothing is there, but '{line}'")
    recovered = bench.run_tool("recover", recorded.dump)
    require(recovered.returncode in (0, 2), f"recover: {recovered.returncode} {recovered.stderr}")
    if list(recorded.dump.glob("rank*/segment-*.h5")):
        # A disk that is full still has no space for what would be recovered.
        bench.verify(recorded.dump, unfinished=recovered.returncode == 2)
        bench.nothing_differs(reference.dump, recorded.dump)


def one_call(bench, shim, references, bare, level, failure, call, row):
    name, error, lasts = failure
    recorded = bench.record(bench.command("train", STEPS), LEVELS[level],
                            shim.environment(call, error, lasts))
    outcome = recorded.outcome()
    if outcome.code == 125 and not outcome.printed:
        # Rejected before the command was started: the expected result if no dump can be created.
        require("ulpscope: error" in outcome.said, f"the refusal is '{outcome.said}'")
    else:
        check(bench, references[level], recorded, outcome, bare, row, name in WHOLE)
    recorded.remove()


def sweep(bench, shim, references, bare):
    counts = {}
    for level, options in LEVELS.items():
        shim.calls()
        recorded = bench.record(bench.command("train", STEPS), options,
                                shim.environment(0, 0, False))
        require(recorded.outcome().same_as(bare), "the recorded run is another one")
        counts[level] = shim.calls()
        recorded.remove()
    for failure in FAILURES:
        row = Row(failure[0], note=f"of {counts['digest']} and {counts['full']} calls")
        for level in LEVELS:
            calls = range(1, counts[level] + 5)
            for call in bench.random.sample(calls, min(len(calls), bench.times(1, 60))):
                row.tried += 1
                try:
                    one_call(bench, shim, references, bare, level, failure, call, row)
                    row.sound += 1
                except Wrong as wrong:
                    row.failures.append(f"call {call}, level {level}: {wrong}")
        yield row


def small_disk(bench, references, bare):
    """A real file system of a random size, full before the end."""
    row = Row("a full tmpfs")
    place = bench.folder / "small"
    place.mkdir()
    for i in range(bench.times(1, 40)):
        level = list(LEVELS)[i % 2]
        size = bench.random.randrange(40, 1200 if level == "digest" else 4000)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", place],
                                 capture_output=True)
        if mounted.returncode != 0:
            row.note = "may not mount"
            break
        row.tried += 1
        try:
            recorded = bench.record(bench.command("train", STEPS), LEVELS[level],
                                    dump=place / "dump")
            outcome = recorded.outcome()
            if outcome.code != 125:
                check(bench, references[level], recorded, outcome, bare, row)
            row.sound += 1
        except Wrong as wrong:
            row.failures.append(f"{size} KiB, level {level}: {wrong}")
        finally:
            subprocess.run(["umount", place], check=True)
    return row


def small_files(bench, references, bare):
    """A limit on the size of files, which the writer inherits."""
    row = Row("files may not grow")
    for i in range(bench.times(1, 20)):
        level = list(LEVELS)[i % 2]
        size = bench.random.randrange(16 << 10, 1 << 20)
        row.tried += 1
        try:
            recorded = bench.record(
                bench.command("train", STEPS), LEVELS[level],
                limits=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
            check(bench, references[level], recorded, recorded.outcome(), bare, row)
            row.sound += 1
            recorded.remove()
        except Wrong as wrong:
            row.failures.append(f"{size} bytes, level {level}: {wrong}")
    return row


def stopped_at(bench, level, step):
    """A recording whose writer is stopped, at `step` or before, while the program still runs."""
    while True:
        recorded = bench.record(bench.command("train", STEPS), LEVELS[level])
        while recorded.progress.steps < step and recorded.writer.poll() is None:
            time.sleep(0.0005)
        recorded.writer.send_signal(signal.SIGSTOP)
        if recorded.progress.steps < STEPS:
            return recorded
        recorded.writer.send_signal(signal.SIGCONT)
        recorded.outcome()
        recorded.remove()
        step = max(1, step // 2)


def removed_directory(bench, references, bare):
    row = Row("the dump removed while it is written")
    for i in range(bench.times(2, 40)):
        level = list(LEVELS)[i % 2]
        row.tried += 1
        try:
            recorded = stopped_at(bench, level, bench.random.randrange(1, STEPS))
            target = recorded.dump if i % 4 < 2 else recorded.dump / "rank0000"
            shutil.rmtree(target, ignore_errors=True)
            recorded.writer.send_signal(signal.SIGCONT)
            outcome = recorded.outcome()
            require(outcome.same_as(bare), f"the program gave {outcome}")
            line = closing_line(outcome.said)
            require("incomplete" in line, f"the closing line is '{line}'")
            row.sound += 1
            recorded.remove()
        except Wrong as wrong:
            row.failures.append(f"{level}: {wrong}")
    return row


def run(bench):
    bare = bench.bare(bench.command("train", STEPS))
    references = {}
    for level, options in LEVELS.items():
        references[level] = bench.record(bench.command("train", STEPS), options)
        references[level].outcome()
    yield from sweep(bench, Shim(bench), references, bare)
    yield small_disk(bench, references, bare)
    yield small_files(bench, references, bare)
    yield removed_directory(bench, references, bare)

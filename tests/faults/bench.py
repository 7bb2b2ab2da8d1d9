"""What all faults need: programs run bare and recorded, what they said of themselves, what a dump says."""

import collections
import ctypes
import dataclasses
import hashlib
import json
import mmap
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
import time

PR_SET_CHILD_SUBREAPER = 36
MARKED = "aten::digamma"
UNPUBLISHED = "has a journal of events that no segment holds"
LONGEST_RUN = 60  # seconds, of a program that ends within one


class Wrong(Exception):
    """What was expected did not hold; its text says what."""


def require(holds, what):
    if not holds:
        raise Wrong(what)


def adopt_orphans():
    """A program whose writer was killed becomes our child, so that its end can be waited for."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def shell_code(status):
    return 128 - status if status < 0 else status


class Progress:
    """What a program says of itself while it runs (program/progress.hpp)."""

    def __init__(self, path):
        self.path = path
        path.write_bytes(bytes(16))
        with open(path, "rb") as file:
            self.memory = mmap.mmap(file.fileno(), 16, prot=mmap.PROT_READ)

    def read(self):
        return struct.unpack("<QQ", self.memory[:])

    @property
    def steps(self):
        return self.read()[0]

    @property
    def ops(self):
        return self.read()[1]


class Pace(threading.Thread):
    """Watches how long a program goes without completing a step."""

    def __init__(self, progress):
        super().__init__(daemon=True)
        self.progress, self.longest, self.over = progress, 0.0, threading.Event()
        self.start()

    def run(self):
        steps, since = None, None
        while not self.over.wait(0.002):
            now, at = time.monotonic(), self.progress.steps
            if at != steps:
                steps, since = at, now
            elif steps:
                self.longest = max(self.longest, now - since)

    def stop(self):
        self.over.set()
        self.join()
        return self.longest


@dataclasses.dataclass
class Outcome:
    code: int
    printed: bytes
    said: str = ""
    steps: int = 0
    ops: int = 0

    def same_as(self, other):
        return (self.code, self.printed) == (other.code, other.printed)


@dataclasses.dataclass
class Row:
    """A line of the table."""
    fault: str
    tried: int = 0
    sound: int = 0
    lost: int = 0
    wait: float = 0.0
    note: str = ""
    failures: list = dataclasses.field(default_factory=list)


class Recorded:
    """A program that runs under `ulpscope record`."""

    def __init__(self, bench, command, options, environment, limits, dump):
        self.bench = bench
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=bench.folder))
        self.dump = dump or self.folder / "dump"
        environment = {name: value.format(dump=self.dump)
                       for name, value in (environment or {}).items()}
        self.progress = Progress(self.folder / "progress")
        self.printed, self.said = self.folder / "printed", self.folder / "said"
        with open(self.printed, "wb") as out, open(self.said, "wb") as err:
            self.writer = subprocess.Popen(
                [bench.ulpscope, "record", "-o", self.dump, *options, "--", *command],
                stdin=subprocess.DEVNULL, stdout=out, stderr=err, preexec_fn=limits,
                env=bench.environment(self.progress, environment))

    def program(self):
        """The process id of the recorded program, or None where it has not begun or has ended."""
        try:
            path = f"/proc/{self.writer.pid}/task/{self.writer.pid}/children"
            pids = pathlib.Path(path).read_text(encoding="ascii").split()
        except OSError:
            return None
        return int(pids[0]) if pids else None

    def wait_for_program(self):
        while self.writer.poll() is None:
            pid = self.program()
            if pid is not None and self.is_recorded(pid):
                return pid
            time.sleep(0.0005)
        return None

    @staticmethod
    def is_recorded(pid):
        """Not the writer's own image any more."""
        try:
            return os.path.basename(os.readlink(f"/proc/{pid}/exe")) != "ulpscope"
        except OSError:
            return False

    def outcome(self):
        """Waits for the writer's end."""
        try:
            code = shell_code(self.writer.wait(LONGEST_RUN))
        except subprocess.TimeoutExpired:
            for pid in descendants(self.writer.pid):
                kill_quietly(pid)
            self.writer.wait()
            raise Wrong(f"it did not end within {LONGEST_RUN} s") from None
        steps, ops = self.progress.read()
        return Outcome(code, self.printed.read_bytes(), self.said.read_text(errors="replace"),
                       steps, ops)

    def adopted(self, pid):
        """The program's own ending, after its writer was killed; None where the writer saw it."""
        try:
            _, status = os.waitpid(pid, 0)
        except ChildProcessError:
            return None
        steps, ops = self.progress.read()
        return Outcome(shell_code(os.waitstatus_to_exitcode(status)), self.printed.read_bytes(), "",
                       steps, ops)

    def status(self):
        return json.loads((self.dump / "status.json").read_text(encoding="utf-8"))

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class Bench:
    def __init__(self, binaries, libraries, folder, brief, most, random, hdf5):
        self.most = most
        self.binaries = pathlib.Path(binaries).resolve()
        self.libraries = pathlib.Path(libraries).resolve()
        self.folder, self.brief, self.random, self.hdf5 = pathlib.Path(folder), brief, random, hdf5
        self.ulpscope = self.binaries / "ulpscope"

    def times(self, briefly, fully):
        """How often to do something."""
        return briefly if self.brief else min(fully, self.most or fully)

    def command(self, *words):
        return [str(self.binaries / "fault_program"), *map(str, words)]

    def environment(self, progress, more=None):
        plugin = self.libraries / "libfault_plugin.so"
        return {**os.environ, "OMP_NUM_THREADS": "1", "TMPDIR": str(self.folder),
                "FAULTS_PROGRESS": str(progress.path),
                "FAULTS_PLUGIN": str(plugin), **(more or {})}

    def bare(self, command, environment=None, limit=LONGEST_RUN):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        progress = Progress(folder / "progress")
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=limit, env=self.environment(progress, environment))
        steps, ops = progress.read()
        shutil.rmtree(folder, ignore_errors=True)
        return Outcome(shell_code(done.returncode), done.stdout, done.stderr.decode(errors="replace"),
                       steps, ops)

    def record(self, command, options=(), environment=None, limits=None, dump=None):
        """Begins a recording. In values of `environment`, {dump} is where the dump goes."""
        return Recorded(self, command, options, environment, limits, dump)

    def run_tool(self, *words):
        return subprocess.run([self.ulpscope, *map(str, words)], capture_output=True, text=True,
                              timeout=LONGEST_RUN)

    def verify(self, dump, unfinished=False):
        """Requires that every published segment is whole, and unless the dump is of an unfinished
        recording that there is nothing beside them. Returns the number of events, those that
        record the state at an end included."""
        done = self.run_tool("verify", dump, "--format", "json")
        require(done.stdout, f"verify: {done.returncode} {done.stderr}")
        answer = json.loads(done.stdout)
        require(done.returncode == (2 if answer["empty"] else 0 if answer["sound"] else 1),
                f"verify ended with {done.returncode}: {answer}")
        problems = answer["problems"]
        if unfinished:
            problems = [problem for problem in problems if UNPUBLISHED not in problem]
        require(not problems, f"verify: {problems}")
        return answer["events"]

    def recover(self, dump):
        """Recovers twice: the second time nothing is there to do and nothing changes. Returns the
        number of events that came back."""
        done = self.run_tool("recover", dump, "--format", "json")
        require(done.returncode == 0, f"recover: {done.returncode} {done.stdout}{done.stderr}")
        ranks = json.loads(done.stdout)["ranks"]
        before = fingerprint(dump)
        again = self.run_tool("recover", dump, "--format", "json")
        require(again.returncode == 0, f"recover again: {again.stderr}")
        require(json.loads(again.stdout)["ranks"] == [], "a second recover found more to do")
        require(fingerprint(dump) == before, "a second recover changed the dump")
        return sum(rank["events"] for rank in ranks)

    def events(self, dump):
        """Counts of a dump's ops by step, what prepares the next step's data left out, of all ops
        and of marked ones."""
        done = subprocess.run([self.binaries / "list_events", dump], capture_output=True, text=True)
        require(done.returncode == 0, f"the dump cannot be read: {done.stderr}")
        steps, total, marked = collections.Counter(), 0, 0
        for line in done.stdout.splitlines():
            fields = line.split("\t")
            steps[int(fields[3])] += fields[7] != "data"
            total += 1
            marked += fields[8] == MARKED
        return steps, total, marked

    def nothing_differs(self, reference, dump):
        """The recordings agree in the part that both have."""
        done = self.run_tool("compare", reference, dump, "--format", "json")
        require(done.returncode in (0, 2), f"compare: {done.returncode} {done.stderr}")
        report = json.loads(done.stdout)
        diverging = [finding for finding in report["findings"] if finding["diverges"]]
        require(report["first"] is None and not diverging and report["verdict"] != "diverged",
                f"compare found a difference: {report['summary']} {diverging}")
        return report


def descendants(pid):
    """A process and all that it started, those first that will not start any more."""
    found = [pid]
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        found += descendants(int(child))
    return found


def fingerprint(folder):
    """Names and contents of all files, as one digest."""
    digest = hashlib.sha256()
    for path in sorted(pathlib.Path(folder).rglob("*")):
        digest.update(str(path.relative_to(folder)).encode())
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()


def kill_quietly(pid, number=signal.SIGKILL):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass

"""Programs that do what a recording does not expect: each ends and prints as it does bare, and the dump
says truthfully whether all of it was recorded."""

import dataclasses
import os
import re

from bench import Row, Wrong, require


@dataclasses.dataclass
class Case:
    """What is known before: whether the recording is complete, and if not, a word of the reason."""
    hazard: str
    reason: str = ""       # empty: complete; None: either
    counted: bool = True   # its marked ops are counted, to the last
    settles: bool = True   # it prints the same each time
    options: tuple = ()
    environment: dict = dataclasses.field(default_factory=dict)


def kernel_tells():
    """Whether the system reports how a process ended that its parent has waited for."""
    major, minor = (int(number) for number in re.findall(r"\d+", os.uname().release)[:2])
    return (major, minor) >= (6, 15)


EXITED = "" if kernel_tells() else None
KILLED = "signal 6" if kernel_tells() else "signal"

CASES = [
    Case("abort", "signal 6"), Case("segfault", "signal 11"), Case("uncaught", "signal 6"),
    Case("own-signal", "signal 15"), Case("underscore-exit"), Case("quick-exit"),
    Case("thread-exits"), Case("main-thread-ends"), Case("static-destructors"),
    Case("module-throws"), Case("function-throws"), Case("callback-throws"),
    Case("module-throws", options=("--capture", "layers")),
    Case("children-record", EXITED), Case("children-idle"), Case("grandchildren", EXITED),
    Case("child-aborts", KILLED), Case("fork-beside-threads", EXITED), Case("spawn-beside-threads"),
    Case("exec-other"), Case("exec-itself"),
    Case("64-threads"), Case("short-threads"), Case("threads-end"), Case("ops-at-thread-end"),
    Case("small-stacks"),
    Case("timer"), Case("profiling-timer"), Case("alternate-stack"), Case("signals-blocked"),
    Case("handler-forks"), Case("handler-of-faults"), Case("own-children"),
    Case("limit-memory", "memory"), Case("limit-descriptors", "descriptor"),
    Case("limit-descriptors-exit", "descriptor"), Case("limit-files"), Case("limit-stack"),
    Case("limit-processes"),
    Case("dlclose"), Case("dlclose", options=("--stacks",)),
    Case("seccomp-strict", "seccomp"), Case("seccomp-kills", "seccomp"),
    Case("seccomp-kills", "seccomp", options=("--level", "full")),
    Case("seccomp-refuses", "seccomp"), Case("seccomp-all-threads", "seccomp"),
    Case("seccomp-beside-ops", "seccomp"), Case("seccomp-forks", "seccomp"),
    Case("seccomp-child", "a child of it"), Case("seccomp-launches", "started under a seccomp filter"),
    Case("seccomp-vfork"), Case("seccomp-inherited", "seccomp"),
    Case("seccomp-inherited-errno", "seccomp"), Case("seccomp-asked"),
    Case("train", environment={"LD_PRELOAD": "{libraries}/libfault_own_preload.so"}),
]

# Of tests/programs: each has something that a recorder could disturb.
PROGRAMS = ["own_callbacks", "profiled", "own_hdf5"]

IN_BRIEF = {"abort", "segfault", "static-destructors", "function-throws", "fork-beside-threads",
            "exec-itself", "64-threads", "threads-end", "timer", "handler-forks", "limit-memory",
            "limit-descriptors-exit", "dlclose", "seccomp-kills", "seccomp-all-threads",
            "seccomp-forks", "seccomp-launches", "seccomp-asked"}


def check(bench, case, bare, recorded, row):
    outcome = recorded.outcome()
    require(outcome.code == bare.code and (not case.settles or outcome.printed == bare.printed),
            f"bare: {bare.code} {bare.printed[-300:]}\nrecorded: {outcome.code} "
            f"{outcome.printed[-300:]}\n{outcome.said[-600:]}")
    bench.verify(recorded.dump)
    status = recorded.status()
    require(status["recorded"], f"nothing was recorded: {status['reason']}")
    _, _, marked = bench.events(recorded.dump)
    missing = outcome.ops - marked
    if status["complete"]:
        row.lost += max(0, missing)
        require(missing == 0 or "layers" in case.options,
                f"{outcome.ops} marked ops ran, {marked} are there, and the dump says it is complete")
    if case.reason:
        require(not status["complete"] and re.search(case.reason, status["reason"]),
                f"the reason is '{status['reason']}'")
    elif case.reason is not None:
        require(status["complete"], f"it should be complete: '{status['reason']}'")
    dump = bench.run_tool("inspect", recorded.dump)
    require(dump.returncode == 0, f"inspect: {dump.stderr}")


def run_case(bench, name, command, case, times):
    row = Row(name)
    environment = {key: value.format(libraries=bench.libraries)
                   for key, value in case.environment.items()}
    bare = bench.bare(command, environment)
    for _ in range(times):
        row.tried += 1
        recorded = bench.record(command, case.options, environment)
        try:
            check(bench, case, bare, recorded, row)
            row.sound += 1
        except Wrong as wrong:
            row.failures.append(str(wrong))
        recorded.remove()
    return row


def run(bench):
    times = bench.times(1, 5)
    for case in CASES:
        if bench.brief and (case.hazard not in IN_BRIEF or case.options):
            continue
        name = " ".join([case.hazard, *case.options, *case.environment])
        yield run_case(bench, name, bench.command(case.hazard), case, times)
    if bench.brief:
        return
    if bench.hdf5:
        case = Case("other-hdf5", environment={"FAULTS_HDF5": bench.hdf5})
        yield run_case(bench, f"own {os.path.basename(bench.hdf5)}", bench.command(case.hazard),
                       case, times)
    for program in PROGRAMS:
        yield run_case(bench, program, [str(bench.binaries / program)], Case(program), times)

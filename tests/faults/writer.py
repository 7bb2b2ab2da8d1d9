"""A writer that is stopped, dies, or cannot be reached any more: the program continues unchanged and the
dump says where it ends."""

import os
import pathlib
import shutil
import signal
import time

from bench import LONGEST_RUN, Pace, Row, Wrong, kill_quietly, require

STEPS = 400
SMALL_RING = ("--ring-bytes", "64K")


def wait_for_step(bench, recorded, most):
    step = 1 + bench.random.randrange(most)
    while recorded.progress.steps < step and recorded.writer.poll() is None:
        time.sleep(0.0005)
    time.sleep(bench.random.uniform(0, 0.002))


def check(bench, reference, recorded, outcome, bare, row):
    """The program is unharmed; what is published is whole and a beginning of the reference."""
    require(outcome.same_as(bare), f"the program gave {outcome.code} {outcome.printed[-200:]}, "
                                   f"bare {bare.code} {bare.printed[-200:]}; {outcome.said}")
    bench.verify(recorded.dump)
    _, _, marked = bench.events(recorded.dump)
    if recorded.status()["complete"]:
        row.lost += max(0, outcome.ops - marked)
    if reference:
        bench.nothing_differs(reference.dump, recorded.dump)


def stopped(bench, reference, bare, for_good, row):
    """SIGSTOP of the writer. For a second: nothing is lost. Permanently: the program gives up waiting and
    finishes."""
    recorded = bench.record(bench.command("train", STEPS), SMALL_RING)
    pace = Pace(recorded.progress)
    pid = recorded.wait_for_program()
    wait_for_step(bench, recorded, STEPS // 2)
    os.kill(recorded.writer.pid, signal.SIGSTOP)
    before = recorded.progress.steps
    begin = time.monotonic()
    while time.monotonic() - begin < (LONGEST_RUN if for_good else 1) and not has_ended(pid):
        time.sleep(0.01)
    ended = has_ended(pid)
    os.kill(recorded.writer.pid, signal.SIGCONT)
    outcome = recorded.outcome()
    row.wait = max(row.wait, pace.stop())
    status = recorded.status()
    require(before < STEPS, "the program had ended before the writer stood still")
    if not for_good:
        require(status["complete"], f"nothing should be missing: {status['reason']}")
    else:
        require(ended, "the program still waited")
        require(not status["complete"] and "waited too long" in status["reason"],
                f"the reason is '{status['reason']}'")
    check(bench, reference, recorded, outcome, bare, row)
    recorded.remove()


def has_ended(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def killed_while_stopped(bench, reference, bare, row):
    """The program waits for a full ring when its writer dies."""
    recorded = bench.record(bench.command("train", STEPS), SMALL_RING)
    pace = Pace(recorded.progress)
    pid = recorded.wait_for_program()
    wait_for_step(bench, recorded, STEPS // 2)
    os.kill(recorded.writer.pid, signal.SIGSTOP)
    time.sleep(0.5)
    kill_quietly(recorded.writer.pid)
    recorded.writer.wait()
    outcome = recorded.adopted(pid)
    row.wait = max(row.wait, pace.stop())
    bench.recover(recorded.dump)
    require(not recorded.status()["complete"], "the dump says that it is complete")
    check(bench, reference, recorded, outcome, bare, row)
    recorded.remove()


def socket_of(pid):
    """A program that has just been executed shows no variables for a moment."""
    for _ in range(100):
        for variable in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if variable.startswith(b"ULPSCOPE_SOCKET="):
                return pathlib.Path(os.fsdecode(variable.partition(b"=")[2]))
        time.sleep(0.001)
    raise Wrong("the program has no ULPSCOPE_SOCKET")


def socket_removed(bench, hazard, row):
    """New threads and new processes cannot be recorded any more."""
    command = bench.command(hazard)
    bare = bench.bare(command)
    recorded = bench.record(command)
    pace = Pace(recorded.progress)
    socket = socket_of(recorded.wait_for_program())
    wait_for_step(bench, recorded, max(1, bare.steps // 2))
    shutil.rmtree(socket.parent)
    outcome = recorded.outcome()
    row.wait = max(row.wait, pace.stop())
    status = recorded.status()
    _, _, marked = bench.events(recorded.dump)
    require(marked < outcome.ops, "all of it was recorded all the same")
    require(not status["complete"] and status["reason"],
            f"{marked} of {outcome.ops} marked ops are there, and the dump says it is complete")
    check(bench, None, recorded, outcome, bare, row)
    recorded.remove()


def tried(row, body):
    row.tried += 1
    try:
        body()
        row.sound += 1
    except Wrong as wrong:
        row.failures.append(str(wrong))


def run(bench):
    command = bench.command("train", STEPS)
    bare = bench.bare(command)
    reference = bench.record(command)
    reference.outcome()
    for name, for_good, times in (("writer stopped for 1 s", False, bench.times(1, 10)),
                                  ("writer stopped for good", True, bench.times(1, 5))):
        row = Row(name)
        for _ in range(times):
            tried(row, lambda: stopped(bench, reference, bare, for_good, row))
        yield row
    row = Row("writer killed while the program waits for it")
    for _ in range(bench.times(1, 20)):
        tried(row, lambda: killed_while_stopped(bench, reference, bare, row))
    yield row
    for hazard, whom in (("short-threads", "threads"), ("children-record", "processes")):
        row = Row(f"socket removed, then new {whom}")
        for _ in range(bench.times(1, 10)):
            tried(row, lambda: socket_removed(bench, hazard, row))
        yield row

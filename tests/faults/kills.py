"""SIGKILL of the program, of the writer, of both, at random moments, while segments are published and
while datasets are written."""

import time

import journal
from bench import Pace, Row, Wrong, kill_quietly, require

STEPS = 120
MODES = {"one segment": (), "a segment for each step": ("--segment-steps", "1"),
         "every layer's bytes": ("--level", "full", "--segment-steps", "2")}
VICTIMS = ("program", "writer", "both")


class Reference:
    """The uninterrupted run."""

    def __init__(self, bench):
        self.command = bench.command("train", STEPS)
        self.bare = bench.bare(self.command)
        self.recordings = {}
        for mode, options in MODES.items():
            recorded = bench.record(self.command, options)
            require(recorded.outcome().same_as(self.bare), "the recorded run is another one")
            require(recorded.status()["complete"], "the uninterrupted recording is incomplete")
            self.recordings[mode] = recorded
        self.by_step, _, marked = bench.events(recorded.dump)
        require(marked == self.bare.ops, f"{self.bare.ops} marked ops ran, {marked} were recorded")


def wait_for_moment(bench, recorded):
    """Any moment of the run, start-up included: a random step, and a random time from there."""
    if bench.random.random() < 0.1:
        time.sleep(bench.random.uniform(0, 0.6))
        return
    step = bench.random.randrange(STEPS)
    while recorded.progress.steps < step and recorded.writer.poll() is None:
        time.sleep(0.0002)
    time.sleep(bench.random.uniform(0, 0.004))


def segments(dump):
    return list(dump.glob("rank*/segment-*.h5"))


def lost_of_program(bench, reference, recorded, outcome):
    """Only the program died: the writer has all that it had done."""
    require(outcome.code in (137, 0), f"record ended with {outcome.code}")
    status = recorded.status()
    if not status["recorded"]:
        require(outcome.steps == 0, f"{outcome.steps} steps were done, nothing was recorded")
        return 0
    if status["complete"]:
        require(outcome.steps == STEPS, f"after {outcome.steps} steps status.json says {status}")
    else:
        require("signal 9" in status["reason"], f"the reason is {status['reason']}")
    bench.verify(recorded.dump)
    by_step, _, marked = bench.events(recorded.dump)
    lost = max(0, outcome.ops - marked)
    # What follows the last step's mark, zero_grad of the next one, belongs to that step still.
    for step in range(outcome.steps - 1):
        lost += max(0, reference.by_step[step] - by_step[step])
    return lost


def lost_of_journal(bench, recorded):
    """The writer died: what it had taken in is in segments or in the journal."""
    rank = recorded.dump / "rank0000"
    if not rank.is_dir():
        return 0
    published = 0
    if segments(recorded.dump):
        published = bench.verify(recorded.dump, unfinished=True)
    journaled = journal.events(rank)
    bench.recover(recorded.dump)
    there = bench.verify(recorded.dump) if segments(recorded.dump) else 0
    return max(0, published + journaled - there)


def one_kill(bench, reference, victim, mode, row):
    recorded = bench.record(reference.command, MODES[mode])
    pace = Pace(recorded.progress)
    pid = recorded.wait_for_program()
    wait_for_moment(bench, recorded)
    if victim != "program":
        kill_quietly(recorded.writer.pid)
    if victim != "writer" and pid is not None:
        kill_quietly(pid)
    if victim == "program":
        outcome = recorded.outcome()
        row.lost += lost_of_program(bench, reference, recorded, outcome)
    else:
        recorded.writer.wait()
        outcome = recorded.adopted(pid) if pid is not None else None
        if victim == "writer" and outcome is not None:
            require(outcome.same_as(reference.bare), f"the program gave {outcome}")
        row.lost += lost_of_journal(bench, recorded)
    row.wait = max(row.wait, pace.stop())
    if segments(recorded.dump):
        bench.nothing_differs(reference.recordings[mode].dump, recorded.dump)
    recorded.remove()


def run(bench):
    reference = Reference(bench)
    kills = bench.times(4, 200)
    for victim in VICTIMS:
        row = Row(f"SIGKILL of {'the ' if victim != 'both' else ''}{victim}")
        for i in range(kills):
            mode = list(MODES)[i % len(MODES)]
            row.tried += 1
            try:
                one_kill(bench, reference, victim, mode, row)
                row.sound += 1
            except Wrong as wrong:
                row.failures.append(f"kill {i}, {mode}: {wrong}")
        yield row

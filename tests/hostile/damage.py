"""Damages copies of dumps and runs every command that reads them.

damage.py ULPSCOPE DUMPS bits [N]       one bit flipped at N places, spread over levels and files
damage.py ULPSCOPE DUMPS truncated [N]  segments cut off at multiples of 4 KiB, N of them
damage.py ULPSCOPE DUMPS journal [N]    N bits of a journal, and the journal cut off at every 4 KiB

Without N: 2,000 bits, every multiple.

Prints a table of counts; fails where damage is overlooked, a verdict is wrong or a command is ended
by a signal.
"""

import collections
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

PAGE = 4096


class Dumps:
    """Runs the command in a separate directory, on copies of the dumps."""

    def __init__(self, ulpscope, dumps):
        self.ulpscope = os.path.realpath(ulpscope)
        self.dumps = os.path.realpath(dumps)
        self.counts = collections.Counter()
        self.failures = []
        self.random = random.Random(20)

    def run(self, *arguments):
        result = subprocess.run(
            [self.ulpscope, *arguments],
            capture_output=True,
            timeout=60,
            check=False,
            env={**os.environ, "NO_COLOR": "1"},
        )
        if result.returncode not in (0, 1, 2):
            self.fail(f"{arguments} ended with {result.returncode}: {result.stderr[-300:]}")
        if result.returncode == 2 and not result.stderr and not result.stdout:
            self.fail(f"{arguments} says nothing")
        return result

    def report(self, reference, candidate):
        """What compare answers: its exit code and the first finding, None where it refuses."""
        result = self.run("compare", reference, candidate, "--format", "json")
        if not result.stdout:
            return result.returncode, None
        report = json.loads(result.stdout)
        first = report["first"]
        place = first and (first["step"], first["op"], first["kind"])
        return result.returncode, (report["verdict"], place)

    def expect(self, right, what):
        self.counts[what if right else f"WRONG: {what}"] += 1
        return right

    def fail(self, sentence):
        self.failures.append(sentence)

    def finish(self):
        print("| what | times |\n|---|---|")
        for what, times in sorted(self.counts.items()):
            print(f"| {what} | {times} |")
        for sentence in self.failures[:20]:
            print(f"FAILED: {sentence}", file=sys.stderr)
        return 1 if self.failures else 0


def segments(dump):
    rank = os.path.join(dump, "rank0000")
    return sorted(os.path.join(rank, name) for name in os.listdir(rank) if name.endswith(".h5"))


def flip(path, place, bit):
    with open(path, "r+b") as file:
        file.seek(place)
        byte = file.read(1)[0] ^ (1 << bit)
        file.seek(place)
        file.write(bytes([byte]))


def check_answers(dumps, name, damaged, place, answers):
    """Against the undamaged dump and against a run that differs: the right answer or none."""
    for other, right in answers.items():
        code, answer = dumps.report(os.path.join(dumps.dumps, other), damaged)
        kind = "the same run" if right[0] == 0 else "another run"
        if answer == right[1] and code == right[0]:
            dumps.expect(True, f"{name}: compared with {kind}: right verdict")
        elif code == 2 and (answer is None or answer[0] == "inconclusive"):
            dumps.expect(True, f"{name}: compared with {kind}: refused or inconclusive")
        else:
            dumps.expect(False, f"{name}: compared with {kind}")
            dumps.fail(f"{name}, {place}: exit code {code}, {answer} instead of {right}")


def flip_bits(dumps, level, times):
    answers = {name: dumps.report(os.path.join(dumps.dumps, name), os.path.join(dumps.dumps, level))
               for name in (level, f"{level}_other")}
    assert answers[level][0] == 0 and answers[f"{level}_other"][0] == 1, answers
    with tempfile.TemporaryDirectory() as work:
        damaged = os.path.join(work, level)
        shutil.copytree(os.path.join(dumps.dumps, level), damaged)
        files = segments(damaged) + [os.path.join(damaged, "status.json")]
        assert len(files) > 3, files
        assert dumps.run("verify", damaged).returncode == 0
        for _ in range(times):
            # Every file as often as any other: a small one has other weaknesses.
            path = dumps.random.choice(files)
            at = dumps.random.randrange(os.path.getsize(path))
            bit = dumps.random.randrange(8)
            place = f"{os.path.basename(path)} byte {at} bit {bit}"
            name = f"{level}, {'status.json' if path.endswith('json') else 'segment'}"
            flip(path, at, bit)
            if not dumps.expect(dumps.run("verify", damaged).returncode == 1, f"{name}: found by verify"):
                dumps.fail(f"{level}, {place}: overlooked by verify")
            check_answers(dumps, name, damaged, place, answers)
            flip(path, at, bit)
        assert dumps.run("verify", damaged).returncode == 0


def bits(dumps, times):
    for level in ("digest", "full"):
        flip_bits(dumps, level, times // 2)


def truncated(dumps, times):
    for level in ("digest", "full"):
        with tempfile.TemporaryDirectory() as work:
            damaged = os.path.join(work, level)
            shutil.copytree(os.path.join(dumps.dumps, level), damaged)
            for path in segments(damaged):
                whole = open(path, "rb").read()
                sizes = range(0, len(whole), PAGE)
                for size in dumps.random.sample(sizes, min(len(sizes), times // 6)):
                    with open(path, "wb") as file:
                        file.write(whole[:size])
                    refused = dumps.run("verify", damaged).returncode == 1
                    refused &= dumps.report(damaged, os.path.join(dumps.dumps, level)) == (2, None)
                    if not dumps.expect(refused, f"{level}: cut off and refused"):
                        dumps.fail(f"{path} cut off at {size} is not refused")
                with open(path, "wb") as file:
                    file.write(whole)


def record_ends(journal):
    """Where the records of a journal end."""
    ends = [0]
    while ends[-1] < len(journal):
        ends.append(ends[-1] + 40 + int.from_bytes(journal[ends[-1] + 16:ends[-1] + 24], "little"))
    return ends


def recover(dumps, damaged, name, place, whole_records):
    """Recovers a copy and compares what came back with what comes back of the whole journal."""
    expected = recovered_events(dumps, os.path.join(dumps.dumps, "killed"), whole_records)
    result = dumps.run("recover", damaged, "--format", "json")
    ranks = json.loads(result.stdout)["ranks"] if result.stdout else None
    events = ranks[0]["events"] if ranks else 0
    if not dumps.expect(result.returncode == 0 and events == expected,
                        f"{name}: read up to the last whole record"):
        dumps.fail(f"{name}, {place}: {events} events instead of {expected} ({result.stderr})")
    verified = dumps.run("verify", damaged)
    if not dumps.expect(verified.returncode == 0, f"{name}: sound once recovered"):
        dumps.fail(f"{name}, {place}: {verified.stdout}")
    code, answer = dumps.report(os.path.join(dumps.dumps, "recovered"), damaged)
    if not dumps.expect(code == 2, f"{name}: compared with all that was recorded: inconclusive"):
        dumps.fail(f"{name}, {place}: {code} {answer}")


KNOWN = {}


def recovered_events(dumps, killed, records):
    """Events recovered from so many complete records of the undamaged journal."""
    if records not in KNOWN:
        with tempfile.TemporaryDirectory() as work:
            copy = os.path.join(work, "killed")
            shutil.copytree(killed, copy)
            path = journal_of(copy)
            whole = open(path, "rb").read()
            with open(path, "wb") as file:
                file.write(whole[:record_ends(whole)[records]])
            ranks = json.loads(dumps.run("recover", copy, "--format", "json").stdout)["ranks"]
            KNOWN[records] = ranks[0]["events"] if ranks else 0
    return KNOWN[records]


def journal_of(dump):
    rank = os.path.join(dump, "rank0000")
    return os.path.join(rank, max(name for name in os.listdir(rank) if name.startswith("journal")))


def journal(dumps, times):
    killed = os.path.join(dumps.dumps, "killed")
    recovered = os.path.join(dumps.dumps, "recovered")
    if not os.path.exists(recovered):
        shutil.copytree(killed, recovered)
        assert dumps.run("recover", recovered).returncode == 0
    whole = open(journal_of(killed), "rb").read()
    ends = record_ends(whole)
    assert ends[-1] == len(whole) and len(whole) > 4 * PAGE, (len(whole), ends[-1])
    cuts = [("cut off", size) for size in range(0, len(whole), PAGE)]
    flips = [("bit flipped", dumps.random.randrange(len(whole) * 8)) for _ in range(times)]
    for what, where in cuts + flips:
        with tempfile.TemporaryDirectory() as work:
            damaged = os.path.join(work, "killed")
            shutil.copytree(killed, damaged)
            path = journal_of(damaged)
            if what == "cut off":
                with open(path, "wb") as file:
                    file.write(whole[:where])
            else:
                flip(path, where // 8, where % 8)
            end = where if what == "cut off" else where // 8
            records = sum(1 for at in ends[1:] if at <= end)
            if not dumps.expect(dumps.run("verify", damaged).returncode == 1,
                                f"journal, {what}: verify says that events are missing"):
                dumps.fail(f"journal, {what} at {where}: overlooked by verify")
            recover(dumps, damaged, f"journal, {what}", where, records)


def main():
    dumps = Dumps(sys.argv[1], sys.argv[2])
    times = int(sys.argv[4]) if len(sys.argv) > 4 else 2000
    {"bits": bits, "truncated": truncated, "journal": journal}[sys.argv[3]](dumps, times)
    return dumps.finish()


if __name__ == "__main__":
    sys.exit(main())

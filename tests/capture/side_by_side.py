#!/usr/bin/env python3
"""Compares runs while they go on, and finds the setting that makes two runs differ.

    side_by_side.py --bin build/release/bin NAME
    side_by_side.py ... --list        names of all cases
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

STEPS = ["--steps", "60"]
LONG = ["--steps", "800"]
ENDLESS = ["--steps", "1000000"]
FAULT_STEP = 20
FAULT = ["--raw-write", str(FAULT_STEP)]


class Runs:
    def __init__(self, bin_folder, folder):
        self.bin = bin_folder
        self.ulpscope = os.path.join(bin_folder, "ulpscope")
        self.bare = os.path.join(bin_folder, "layernorm_mlp")
        self.program = [self.bare] + STEPS
        self.folder = folder

    def start(self, *arguments, environment=None):
        return subprocess.Popen([self.ulpscope, *arguments], cwd=self.folder, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=dict(os.environ, **(environment or {})))

    def run(self, *arguments, environment=None):
        return subprocess.run([self.ulpscope, *arguments], cwd=self.folder, capture_output=True, text=True,
                              timeout=200, env=dict(os.environ, **(environment or {})))

    def record(self, dump, *flags, environment=None):
        self.run("record", "-o", dump, "--", *self.program, *flags, environment=environment)

    def record_long(self, dump):
        self.run("record", "-o", dump, "--", self.bare, *LONG)


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def against_equal(runs):
    runs.record("golden")
    done = runs.run("record", "--against", "golden", "--stop", "-o", "new", "--", *runs.program)
    expect(done.returncode == 0, f"exit code {done.returncode}: {done.stderr}")
    expect("stopped" not in done.stderr, done.stderr)
    expect("equal to golden in " in done.stderr, done.stderr)
    expect(runs.run("compare", "golden", "new").returncode == 0, "the new dump is not equal")


def against_diverged(runs):
    runs.record("golden")
    done = runs.run("record", "--against", "golden", "-o", "new", "--", *runs.program, *FAULT)
    expect(done.returncode == 0, "the exit code is not the program's")
    expect(done.stderr.count(f"diverged at step {FAULT_STEP} ") == 1, done.stderr)


def against_own_exit_code(runs):
    runs.record("golden")
    done = runs.run("record", "--against", "golden", "-o", "new", "--", runs.bare, "--no-such-flag")
    expect(done.returncode == 109, f"exit code {done.returncode}, not the program's 109")


def state_of(process):
    with open(f"/proc/{process}/stat", encoding="utf8") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


def children_of(process):
    with open(f"/proc/{process}/task/{process}/children", encoding="utf8") as file:
        return [int(child) for child in file.read().split()]


def wait_for(condition):
    for _ in range(600):
        if condition():
            return True
        time.sleep(0.1)
    return False


def until_stopped(recording):
    """The recording, and what it has said until its program was stopped."""
    lines = []
    for line in recording.stderr:
        lines.append(line)
        if "gdb -p" in line:
            return recording, "".join(lines)
    raise AssertionError("".join(lines))


def start_until_stopped(runs):
    """The recording, and the program, which was stopped where it diverges."""
    runs.record_long("golden")
    recording, lines = until_stopped(runs.start("record", "--against", "golden", "--stop", "-o", "new", "--",
                                                runs.bare, *LONG, *FAULT))
    process = int(re.search(r"gdb -p (\d+)", lines)[1])
    expect(wait_for(lambda: state_of(process) == "T"), f"{process} is not stopped")
    return recording, process


def stops(runs):
    """The program is stopped where it diverges, and SIGCONT continues it."""
    recording, process = start_until_stopped(runs)
    os.kill(process, signal.SIGCONT)
    output, _ = recording.communicate(timeout=200)
    expect(recording.returncode == 0 and "final digest" in output, "the program did not go on")


def ends_when_stopped(runs):
    """A signal that ends the recorder ends the program that it has stopped."""
    recording, process = start_until_stopped(runs)
    recording.terminate()
    recording.communicate(timeout=100)
    expect(not os.path.exists(f"/proc/{process}"), f"{process} is left behind")


def killed_when_stopped(runs):
    """A program does not wait for ever for a recorder that was killed."""
    recording, process = start_until_stopped(runs)
    time.sleep(1)  # the process that records knows by then that the program is to stay stopped
    recording.kill()
    output, _ = recording.communicate(timeout=200)  # the end of what the program prints
    expect("final digest" in output, f"{process} did not go on")


def live_diverged(runs):
    long = [runs.bare, *LONG]
    done = runs.run("live", "--format", "json", "-o", "dumps", "--", *long, "---", *long, *FAULT)
    expect(done.returncode == 1, f"exit code {done.returncode}: {done.stderr}")
    first = json.loads(done.stdout)["first"]
    expect((first["kind"], first["step"]) == ("write", FAULT_STEP), f"{first['kind']} at step {first['step']}")
    with open(os.path.join(runs.folder, "dumps", "run-1.txt"), encoding="utf8") as file:
        expect("final digest" not in file.read(), "the programs ran to their end")


def live_equal(runs):
    done = runs.run("live", "-o", "dumps", "--", *runs.program, "---", *runs.program)
    expect(done.returncode == 0, f"exit code {done.returncode}: {done.stdout}{done.stderr}")


def was_removed(done):
    """Whether the faster program was too far ahead for the steps that a small window keeps (cli/docs/checking.md)."""
    return done.returncode == 2 and " removed before " in " ".join(done.stdout.split())


def live_longer(runs):
    """What compare says of a run that is longer, wherever the other one ends, and however few steps are kept."""
    short, longer = [runs.bare, "--steps", "10"], [runs.bare, "--steps", "400"]
    done = runs.run("live", "--format", "json", "--", *short, "---", *longer)
    expect(done.returncode == 2, f"exit code {done.returncode}: {done.stderr}")
    report = json.loads(done.stdout)
    expect(report["summary"].endswith("identical in the 10 steps that both have; the candidate has 390 more"),
           report["summary"])
    done = runs.run("live", "--window", "16", "--", runs.bare, "--steps", "300", "---", *short)
    expect(was_removed(done) or "identical in the 10 steps that both have; the reference has 290 more" in done.stdout,
           done.stdout)
    done = runs.run("live", "--window", "16", "--", *longer, "---", runs.bare, "--steps", "300")
    expect(was_removed(done) or "identical in the 300 steps that both have; the reference has 100 more" in done.stdout,
           done.stdout)
    more = []
    longer = [runs.bare, "--steps", "100"]
    for window in "1000", "16":
        done = runs.run("live", "--allow-longer", "--format", "json", "--window", window, "--", *short, "---", *longer)
        if window == "16" and was_removed(done):
            return
        expect(done.returncode == 0, f"exit code {done.returncode}: {done.stdout}{done.stderr}")
        more.append(json.loads(done.stdout)["coverage"]["only_candidate"])
    a_step = more[0] // 90
    expect(abs(more[0] - more[1]) < a_step, f"events of the candidate alone: {more[0]} or {more[1]}")


def is_complete(dump):
    try:
        with open(os.path.join(dump, "status.json"), encoding="utf8") as file:
            return json.load(file)["complete"]
    except FileNotFoundError:
        return False


def has_file(dump):
    return any(name.endswith(".h5") for _, _, names in os.walk(dump) for name in names)


def live_too_far_ahead(runs):
    """A verdict, where the longer run's first steps may have been removed before anything of them could be compared."""
    dumps = [os.path.join(runs.folder, "dumps", run) for run in ("run-1", "run-2")]
    longer = runs.start("live", "--window", "4", "-o", "dumps", "--", runs.bare, "--steps", "10", "---",
                        runs.bare, "--steps", "100")
    while longer.poll() is None and not has_file(dumps[1]):
        time.sleep(0.001)
    recorders = children_of(longer.pid)
    os.kill(recorders[1], signal.SIGSTOP)
    # At its last step, or held there until the other one comes.
    expect(wait_for(lambda: is_complete(dumps[0]) or all(state_of(each) == "T" for each in children_of(recorders[0]))),
           "the shorter run goes on")
    os.kill(recorders[1], signal.SIGCONT)
    output, errors = longer.communicate(timeout=200)
    expect(longer.returncode == 2, f"exit code {longer.returncode}: {output}{errors}")
    expect(output.startswith("INCONCLUSIVE"), output + errors)


def live_diverged_before_end(runs):
    done = runs.run("live", "--format", "json", "--", runs.bare, "--steps", "21", "---", runs.bare, *LONG, *FAULT)
    expect(done.returncode == 1, f"exit code {done.returncode}: {done.stderr}")
    first = json.loads(done.stdout)["first"]
    expect((first["kind"], first["step"]) == ("write", FAULT_STEP), f"{first['kind']} at step {first['step']}")


def live_process_without_steps(runs):
    """A process that has ops and no steps holds nobody."""
    command = ["bash", "-c", f"{os.path.join(runs.bin, 'few_ops')} && exec {runs.bare} --steps 150"]
    done = runs.run("live", "--", *command, "---", *command)
    expect(done.returncode == 0, f"exit code {done.returncode}: {done.stdout}{done.stderr}")
    expect(done.stdout.startswith("IDENTICAL: "), done.stdout)


def live_threads(runs):
    """Threads that train are compared with their real partners, whichever has begun."""
    train = [os.path.join(runs.bin, "trainers"), "--mode", "parallel", "--trainers", "3", "--own-seeds", "--steps", "40"]
    done = runs.run("live", "--", *train, "---", *train)
    expect(done.returncode == 0, f"exit code {done.returncode}: {done.stdout}{done.stderr}")
    expect(done.stdout.startswith("IDENTICAL: ") and " 40 steps, " in done.stdout, done.stdout)
    done = runs.run("live", "--format", "json", "--", *train, "---", *train, "--scale", "2", "--scale-step", "20")
    expect(done.returncode == 1, f"exit code {done.returncode}: {done.stderr}")
    first = json.loads(done.stdout)["first"]
    expect((first["op"], first["step"]) == ("aten::mul_", 19), f"{first['op']} at step {first['step']}")


def live_other_exit_code(runs):
    """Programs that end differently are not said to be identical, in any format."""
    short = [runs.bare, "--steps", "10"]
    failing = ["bash", "-c", f"{' '.join(short)}; exit 3"]
    why = "the reference ended with exit code 0 and the candidate with exit code 3"
    done = runs.run("live", "--", *short, "---", *failing)
    expect(done.returncode == 2, f"exit code {done.returncode}: {done.stdout}{done.stderr}")
    expect(" ".join(done.stdout.split()).startswith(f"INCONCLUSIVE: all that was compared is equal, but {why} "), done.stdout)
    done = runs.run("live", "--format", "json", "--", *short, "---", *failing)
    report = json.loads(done.stdout)
    expect(done.returncode == 2 and report["verdict"] == "inconclusive", f"{done.returncode}: {report['verdict']}")
    expect(report["summary"].endswith(why), report["summary"])
    done = runs.run("live", "--", *failing, "---", *failing)
    expect(done.returncode == 0 and done.stdout.startswith("IDENTICAL: "), f"{done.returncode}: {done.stdout}")


def processes_in(folder):
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.path.realpath(os.readlink(f"/proc/{process}/cwd")) == os.path.realpath(folder):
                found.append(process)
        except OSError:
            pass
    return found


def program_with(folder, argument):
    for process in processes_in(folder):
        with open(f"/proc/{process}/cmdline", encoding="utf8") as file:
            words = file.read().split("\0")
        if argument in words and not words[0].endswith("ulpscope"):
            return int(process)
    return None


def expect_one_line(runs, done, code, what):
    expect(done.returncode == code, f"exit code {done.returncode}: {done.stdout}{done.stderr}")
    expect(done.stdout == "" and what in done.stderr, done.stdout + done.stderr)
    expect(done.stderr.count("ulpscope: ") == 1, done.stderr)
    expect(not processes_in(runs.folder), f"left behind: {processes_in(runs.folder)}")


def cannot_run(runs):
    """The same line as without a comparison, and the other program is ended."""
    runs.record("golden")
    plain = os.path.join(runs.folder, "plain.txt")
    with open(plain, "w", encoding="utf8") as file:
        file.write("no program")
    long = [runs.bare, *LONG]
    for command, code, reason in (("./missing", 127, "No such file or directory"), (plain, 126, "Permission denied")):
        line = f"ulpscope: error: '{command}' cannot be run: {reason}\n"
        expect_one_line(runs, runs.run("record", "--against", "golden", "--", command), code, line)
        expect_one_line(runs, runs.run("live", "--", *long, "---", command), 2, line)
        expect_one_line(runs, runs.run("live", "--", command, "---", *long), 2, line)
    expect(not os.listdir(os.path.join(runs.folder, "runs")), "an empty dump is left")


def live_not_recorded(runs):
    long = [runs.bare, *LONG]
    expect_one_line(runs, runs.run("live", "--", *long, "---", "true"), 2,
                    "'true' was not recorded: no process of it computed anything with LibTorch ")
    expect_one_line(runs, runs.run("live", "--", "true", "---", "false"), 2, "was not recorded")
    expect_one_line(runs, runs.run("live", "--", runs.bare, "--no-such-flag", "---", *long), 2,
                    "it ended with exit code 109")


def live_killed(runs):
    """A run that a signal has ended says what both have, and the other one, which adds nothing, ends."""
    live = runs.start("live", "-o", "dumps", "--", runs.bare, *ENDLESS, "---", runs.bare, *ENDLESS, "--save", "x")
    killed = wait_for(lambda: program_with(runs.folder, "--save") is not None and
                      os.path.exists(os.path.join(runs.folder, "dumps/run-2/rank0000/segment-000001.h5")))
    expect(killed, "the programs have not begun")
    os.kill(program_with(runs.folder, "--save"), signal.SIGKILL)
    output, errors = live.communicate(timeout=200)
    expect(live.returncode == 2, f"exit code {live.returncode}: {output}{errors}")
    expect("the candidate's recording is incomplete" in output, output)
    expect(not processes_in(runs.folder), f"left behind: {processes_in(runs.folder)}")


def two_ranks(runs, second_seed):
    """Two ranks that train different models."""
    return ["bash", "-c", f"RANK=0 {runs.bare} --seed 1 --steps 800 & RANK=1 {runs.bare} --seed {second_seed} --steps 800 & "
            "wait"]


def end(recording, lines):
    """Processes that were left stopped do nothing more."""
    for process in re.search(r"kill -CONT ([\d ]+)", lines)[1].split():
        os.kill(int(process), signal.SIGKILL)
    recording.communicate(timeout=100)


def kept_steps(runs, dump):
    with open(os.path.join(runs.folder, dump, "status.json"), encoding="utf8") as file:
        return json.load(file)["counts"]["steps"]


def values_of_another_rank(runs):
    """What rank 1 computes is looked for in the reference's rank 1, not in its other one."""
    runs.run("record", "-o", "golden", "--", *two_ranks(runs, 2))
    recording, lines = until_stopped(runs.start("record", "--against", "golden", "--stop", "-o", "new", "--",
                                                *two_ranks(runs, 1)))
    end(recording, lines)
    expect(kept_steps(runs, "new") < 800, "it was stopped at its end")


def exchanging_ranks(runs):
    """Ranks that exchange tensors, one of which waits for the other one."""
    command = [os.path.join(runs.bin, "distributed"), "launch", "2", "data_parallel"]
    slow = {"DELAYS": "300,0"}
    runs.run("record", "-o", "golden", "--", *command)
    equal = runs.run("record", "--against", "golden", "--stop", "-o", "equal", "--", *command, environment=slow)
    expect(equal.returncode == 0 and "equal to golden in 4 steps" in equal.stderr, equal.stderr)
    planted = runs.start("record", "--against", "golden", "--stop", "-o", "new", "--", *command,
                         environment=dict(slow, PLANT="1@1"))
    recording, lines = until_stopped(planted)
    expect("diverged at step 1 " in lines, lines)
    end(recording, lines)
    expect(kept_steps(runs, "new") <= 3, f"it was stopped in step {kept_steps(runs, 'new') - 1}")


def threads_apart(runs):
    """Threads that train models of their own are in different steps."""
    train = [os.path.join(runs.bin, "trainers"), "--mode", "parallel", "--trainers", "3", "--own-seeds", "--steps", "2000"]
    runs.run("record", "-o", "golden", "--", *train)
    recording, lines = until_stopped(runs.start("record", "--against", "golden", "--stop", "-o", "new", "--", *train,
                                                "--scale", "2", "--scale-step", "100"))
    end(recording, lines)
    expect(kept_steps(runs, "new") < 2000, "it was stopped at its end")


def stopped_before(runs):
    """A process that has stopped itself is not woken by what holds its program."""
    with_stopped = f"(echo $BASHPID > child; kill -STOP $BASHPID; touch woken) & exec {runs.bare} {' '.join(STEPS)}"
    live = runs.start("live", "-o", "dumps", "--", "bash", "-c", with_stopped, "---", *runs.program)
    printed = os.path.join(runs.folder, "dumps", "run-1.txt")
    expect(wait_for(lambda: os.path.exists(printed) and "final digest" in open(printed, encoding="utf8").read()),
           "the program does not end")
    expect(not os.path.exists(os.path.join(runs.folder, "woken")), "it was woken")
    with open(os.path.join(runs.folder, "child"), encoding="utf8") as file:
        child = int(file.read())
    expect(state_of(child) == "T", f"{child} is in state {state_of(child)}")
    os.kill(child, signal.SIGKILL)
    output, errors = live.communicate(timeout=200)
    expect(live.returncode == 0, f"exit code {live.returncode}: {output}{errors}")


def live_without_recorder(runs):
    """As when a program was killed; the one that nobody records any more ends too."""
    program = [runs.bare, *ENDLESS]
    live = runs.start("live", "-o", "dumps", "--", *program, "---", *program)
    expect(wait_for(lambda: os.path.exists(os.path.join(runs.folder, "dumps/run-2/rank0000/segment-000001.h5"))),
           "the programs have not begun")
    with open(f"/proc/{live.pid}/task/{live.pid}/children", encoding="utf8") as file:
        recorders = [int(word) for word in file.read().split()]
    os.kill(recorders[1], signal.SIGKILL)
    output, errors = live.communicate(timeout=200)
    expect(live.returncode == 2, f"exit code {live.returncode}: {output}{errors}")
    expect("the candidate's recording is incomplete" in output, output)
    expect(wait_for(lambda: not processes_in(runs.folder)), f"left behind: {processes_in(runs.folder)}")


def bisected(runs):
    runs.record("a", environment={"OMP_WAIT_POLICY": "active"})
    runs.record("b", "--eps", "1e-6", "--threads", "2", environment={"OMP_WAIT_POLICY": "passive"})
    done = runs.run("bisect", "a", "b", "--format", "json")
    expect(done.returncode == 1, f"exit code {done.returncode}: {done.stderr}")
    answer = json.loads(done.stdout)
    names = [setting["name"] for setting in answer["settings"]]
    expect(sorted(names) == ["--eps", "--threads", "OMP_WAIT_POLICY"], f"settings {names}")
    expect([names[index] for index in answer["smallest"]] == ["--eps"], f"smallest {answer['smallest']}")
    expect("1e-6" in answer["command"] and "--threads" not in answer["command"], f"{answer['command']}")


def bisected_equal(runs):
    runs.record("a")
    runs.record("b")
    done = runs.run("bisect", "a", "b")
    expect(done.returncode == 0 and done.stdout.startswith("IDENTICAL"), done.stdout)


CASES = {case.__name__.replace("_", "-"): case
         for case in (against_equal, against_diverged, against_own_exit_code, stops, ends_when_stopped,
                      killed_when_stopped, live_diverged, live_equal, live_longer, live_too_far_ahead,
                      live_diverged_before_end,
                      live_process_without_steps, live_threads, live_other_exit_code,
                      cannot_run, live_not_recorded, live_killed, values_of_another_rank,
                      exchanging_ranks, threads_apart, stopped_before, live_without_recorder,
                      bisected, bisected_equal)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("name", nargs="?", choices=list(CASES))
    options = parser.parse_args()
    if options.list:
        return print("\n".join(CASES))
    with tempfile.TemporaryDirectory(prefix="ulpscope-side-") as folder:
        try:
            CASES[options.name](Runs(os.path.abspath(options.bin), folder))
        except AssertionError as error:
            return str(error)
    return None


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Programs that record themselves through ulpscope::Recorder.

    recording_itself.py --bin build/release/bin CASE
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
from pathlib import Path

BIN = Path()
WORK = Path()


def run(*arguments, expect=0, **environment):
    """Standard output of a program of ours."""
    command = [str(BIN / arguments[0]), *map(str, arguments[1:])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False,
                          env=os.environ | environment)
    assert done.returncode == expect, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def status(dump):
    return json.loads((dump / "status.json").read_text(encoding="utf-8"))


def finished_status(dump):
    """Of a dump whose program did not wait for it."""
    for _ in range(200):
        if status(dump)["reason"] != "the recording has not ended":
            break
        time.sleep(0.05)
    return status(dump)


def compare(reference, candidate, expect=0):
    return json.loads(run("ulpscope", "compare", reference, candidate, "--format", "json", expect=expect))


def events(dump, step):
    return run("ulpscope", "inspect", dump, str(step)).splitlines()


def losses(output):
    return re.findall(r"loss (\S+)", output)


def trained(mode, *dumps, program="recording_itself"):
    return run(program, mode, *dumps)


def case_repeats_are_identical():
    trained("train", WORK / "a")
    trained("train", WORK / "b")
    assert status(WORK / "a")["complete"]
    report = compare(WORK / "a", WORK / "b")
    assert report["verdict"] == "identical", report["summary"]
    assert report["reference"]["steps"] == 3, report["reference"]
    assert report["reference"]["level"] == "full", report["reference"]


def case_names_are_as_watched():
    trained("train", WORK / "a")
    lines = events(WORK / "a", 1)
    number = next(line.split()[0] for line in lines if re.search(r"aten::addmm\s+first$", line))
    assert re.search(r"^root\s+model$", run("ulpscope", "inspect", WORK / "a", f"1/{number}"), re.M)
    assert any(re.search(r"aten::gelu\s+activation$", line) for line in lines), lines
    head = next(i for i, line in enumerate(lines) if re.search(r"the head\s+model$", line))
    assert re.search(r"^\d+\s+forward\s{5,}.*last$", lines[head + 1]), lines[head + 1]


def case_notes_hold_from_their_step():
    trained("train", WORK / "a")
    settings = run("ulpscope", "inspect", WORK / "a", "settings")
    assert re.search(r"setup\s+note\.dataset\s+digits, 2nd edition", settings), settings
    for step, ids in (("setup", "[0, 1, 2, 3]"), ("1", "[1, 2, 3, 4]"), ("2", "[2, 3, 4, 5]")):
        assert re.search(rf"\b{step}\s+note\.batch\s+{re.escape(ids)}", settings), settings
    states = re.findall(r"note\.rng\.numpy\s+([0-9a-f]{32})", settings)
    assert len(states) == len(set(states)) == 3, states


def case_two_recordings_follow_each_other():
    trained("twice", WORK / "a", WORK / "b")
    trained("train", WORK / "c")
    for other in ("b", "c"):
        assert compare(WORK / "a", WORK / other)["verdict"] == "identical"


def case_nothing_is_assumed_of_an_earlier_recording():
    trained("between", WORK / "a", WORK / "b")
    lines = events(WORK / "b", "setup")
    number = next(line.split()[0] for line in lines if line.endswith("aten::sum"))
    event = run("ulpscope", "inspect", WORK / "b", f"setup/{number}")
    read = next(line for line in event.splitlines() if line.startswith("  input 0"))
    assert "produced by no recorded op" in read, event
    assert "changed" not in read, event


def case_threads_go_on_between_recordings():
    trained("threads", WORK / "a", WORK / "last")
    for dump in [WORK / f"a{i}" for i in range(5)] + [WORK / "last"]:
        assert status(dump)["complete"], status(dump)
        run("ulpscope", "verify", dump)
        assert any(line.startswith("rank 0, main, step 1") for line in events(dump, 1))


def case_a_second_recorder_is_refused():
    output = trained("second", WORK / "a")
    assert "refused: a Recorder is recording this process already" in output, output
    assert status(WORK / "a")["complete"]
    assert not (WORK / "a-second").exists()


def case_the_writer_is_no_child():
    output = trained("children", WORK / "a")
    assert "waitpid while recording: no child" in output, output
    assert "waitpid afterwards: no child" in output, output
    assert "SIGCHLD: 0" in output, output


def case_a_forked_child_is_off():
    output = trained("forks", WORK / "a")
    assert "child records: no" in output and "parent records: yes" in output, output
    trained("second", WORK / "b")
    assert status(WORK / "a")["complete"] and status(WORK / "a")["ranks"] == [0]
    assert compare(WORK / "a", WORK / "b")["verdict"] == "identical"


def case_exit_is_an_end():
    run("recording_itself", "leaves", WORK / "a", expect=7)
    ended = finished_status(WORK / "a")
    assert ended["complete"], ended


def case_a_kill_loses_nothing():
    trained("second", WORK / "a")
    run("recording_itself", "killed", WORK / "b", expect=-signal.SIGKILL)
    ended = finished_status(WORK / "b")
    assert ended["recorded"] and not ended["complete"], ended
    # Of what the other run leaves when it ends, which the list leaves out, it has nothing.
    assert run("list_events", WORK / "b") == run("list_events", WORK / "a")
    run("ulpscope", "verify", WORK / "b")


def case_a_filter_ends_the_recording_alone():
    output = trained("filter", WORK / "a")
    assert "records: no" in output and len(losses(output)) == 6, output
    ended = finished_status(WORK / "a")
    assert ended["recorded"] and not ended["complete"] and "seccomp" in ended["reason"], ended


def case_the_program_computes_the_same():
    assert losses(trained("train", WORK / "a")) == losses(trained("unrecorded"))


def case_without_a_recorder_nothing_happens():
    assert "capture library: not mapped" in trained("unrecorded")


def case_a_recorded_program_stays_with_its_recording():
    trained("train", WORK / "a")
    run("ulpscope", "record", "-o", WORK / "b", "--level", "full", "--", BIN / "recording_itself", "train",
        WORK / "ignored")
    assert not (WORK / "ignored").exists()
    assert compare(WORK / "a", WORK / "b")["verdict"] == "identical"


def case_what_is_missing_is_told():
    output = run("recording_itself", "train", WORK / "a", expect=3, ULPSCOPE_BINARY="/nonexistent")
    assert "error: ULPSCOPE_BINARY names '/nonexistent', which cannot be run" in output, output
    output = run("recording_itself", "train", WORK / "a", expect=3, ULPSCOPE_CAPTURE_LIBRARY=str(WORK))
    assert re.search(r"no capture library fits LibTorch \d+\.\d+: none is installed", output), output
    trained("train", WORK / "a")
    output = run("recording_itself", "train", WORK / "a", expect=3)
    assert "holds a dump already" in output, output
    output = run("recording_itself", "second", WORK / "b", expect=3, ULPSCOPE_LEVEL="wrong")
    assert "ULPSCOPE_LEVEL cannot be 'wrong'" in output, output


def case_an_optional_recorder_lets_the_program_go_on():
    output = run("recording_itself", "optional", WORK / "a", ULPSCOPE_BINARY="/nonexistent")
    assert losses(output) == losses(trained("unrecorded")), output
    assert "recording: no; ULPSCOPE_BINARY names" in output, output


def case_link_order():
    """Calls of built-in modules are seen in any position of the target; after LibTorch, without the
    target's own option, names come from parameters alone."""
    trained("train", WORK / "first")
    trained("train", WORK / "last", program="recording_itself_linked_last")
    trained("train", WORK / "behind", program="recording_itself_linked_behind")
    assert compare(WORK / "first", WORK / "last")["verdict"] == "identical"
    lines = events(WORK / "behind", 1)
    assert not any("Linear::forward" in line for line in lines), lines
    assert any(re.search(r"aten::addmm\s+first$", line) for line in lines), lines


def main():
    global BIN, WORK
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=Path)
    parser.add_argument("case")
    options = parser.parse_args()
    BIN = options.bin.resolve()
    with tempfile.TemporaryDirectory() as folder:
        WORK = Path(folder)
        globals()["case_" + options.case]()
    return 0


if __name__ == "__main__":
    sys.exit(main())

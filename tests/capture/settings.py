#!/usr/bin/env python3
"""What a dump says about the process that it records.

    settings.py --bin build/release/bin --torch build/torch/torch changed    one setting changed: compare lists it
    settings.py ... mid-run    changed while the program runs: compare says in which steps
    settings.py ... facts      versions, processor and libraries as other tools report them
    settings.py ... secrets    variables that are on no list are recorded by name only
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

HABITS = ["habits"]


class Change:
    """What makes a key differ from a plain run, its values in both, and which keys change with it."""

    def __init__(self, before, after, flags=(), environment=None, prefix=(), others=(),
                 can_change_bits=True):
        self.values, self.flags, self.environment = [before, after], list(flags), environment or {}
        self.prefix, self.others, self.can_change_bits = list(prefix), set(others), can_change_bits


def flag(key, before, after, others=()):
    return {key: Change(before, after, ["--set", f"{key}={after}"], others=others)}


def variable(name, value, others=()):
    return {f"env.{name}": Change(None, value, environment={name: value}, others=others)}


CHANGES = {
    "threads.intra_op": Change("1", "2", ["--threads", "2"]),
    "rng.cpu.seed": Change("1", "2", ["--seed", "2"]),
    **flag("flag.deterministic_algorithms", "off", "on"),
    **flag("flag.fill_uninitialized", "on", "off"),
    **flag("flag.cudnn.enabled", "on", "off"),
    **flag("flag.cudnn.benchmark", "off", "on"),
    **flag("flag.cudnn.deterministic", "off", "on"),
    **flag("flag.cudnn.allow_tf32", "on", "off"),
    **flag("flag.cublas.allow_tf32", "off", "on", ["flag.matmul_precision"]),
    **flag("flag.cublas.allow_fp16_reduced_precision", "on", "off"),
    **flag("flag.cublas.allow_bf16_reduced_precision", "on", "off"),
    **flag("flag.matmul_precision", "highest", "high", 
           ["flag.cublas.allow_tf32", "flag.mkldnn.matmul_precision"]),
    **flag("flag.mkldnn.enabled", "on", "off"),
    **flag("flag.mkldnn.deterministic", "off", "on"),
    **flag("flag.mkldnn.conv_precision", "none", "bf16"),
    **flag("flag.mkldnn.matmul_precision", "none", "bf16", ["flag.matmul_precision"]),
    **flag("flag.mkldnn.rnn_precision", "none", "bf16"),
    **flag("flag.sdp.flash", "on", "off"),
    **flag("flag.sdp.mem_efficient", "on", "off"),
    **flag("flag.sdp.math", "on", "off"),
    **flag("flag.sdp.cudnn", "on", "off"),
    **flag("flag.flush_denormal", "off", "on"),
    **variable("CUBLAS_WORKSPACE_CONFIG", ":4096:8"),
    **variable("PYTHONHASHSEED", "0"),
    **variable("ONEDNN_MAX_CPU_ISA", "SSE41", ["cpu.onednn_isa"]),
    **variable("ATEN_CPU_CAPABILITY", "default", ["cpu.capability"]),
    "env_now.MKL_CBWR": Change(None, "COMPATIBLE", ["--set", "env.MKL_CBWR=COMPATIBLE"]),
}


def output(command, codes=(0,), **environment):
    done = subprocess.run(command, capture_output=True, text=True, timeout=250,
                          env={**os.environ, **environment})
    assert done.returncode in codes, f"{command} ended with {done.returncode}\n{done.stderr}"
    return done.stdout


class Runs:
    def __init__(self, bin_folder, folder):
        self.bin, self.folder = bin_folder, folder

    def record(self, name, flags=(), environment=None, prefix=(), program=None):
        dump = os.path.join(self.folder, name)
        command = program or HABITS
        output([os.path.join(self.bin, "ulpscope"), "record", "-o", dump, "--", *prefix,
                os.path.join(self.bin, command[0]), *command[1:], *flags], **(environment or {}))
        return dump

    def differences(self, reference, candidate):
        report = json.loads(output([os.path.join(self.bin, "ulpscope"), "compare", reference,
                                    candidate, "--format", "json"], codes=(0, 1)))
        return report["environment"]

    def settings(self, dump):
        rows = json.loads(output([os.path.join(self.bin, "ulpscope"), "env", dump, dump, "--all",
                                  "--format", "json"]))
        return {row["key"]: row["reference"] for row in rows["ranks"][0]["settings"]}


def wrong_change(key, change, listed):
    found = next((row for row in listed if row["key"] == key), None)
    if found is None:
        yield f"{key} is not listed"
        return
    expected = {"key": key, "reference": change.values[0], "candidate": change.values[1],
                "can_change_bits": change.can_change_bits, "steps": None}
    if found != expected:
        yield f"{found}, expected {expected}"
    beside = {row["key"] for row in listed if row["can_change_bits"]} - {key}
    if beside - change.others:
        yield f"{key}: these differ too: {beside - change.others}"
    weights = [row["can_change_bits"] for row in listed]
    if weights != sorted(weights, reverse=True):
        yield f"{key}: what can change bits does not come first"


def changed(runs, _):
    plain = runs.record("plain")
    for number, (key, change) in enumerate(CHANGES.items()):
        dump = runs.record(f"changed{number}", change.flags, change.environment, change.prefix)
        yield from wrong_change(key, change, runs.differences(plain, dump))
    three = runs.record("three", ["--set", "threads.inter_op=3"])
    four = runs.record("four", ["--set", "threads.inter_op=4"])
    yield from wrong_change("threads.inter_op", Change("3", "4"), runs.differences(three, four))
    bound = runs.record("bound", prefix=["taskset", "-c", "0"])
    affinity = [row for row in runs.differences(plain, bound) if row["key"] == "cpu.affinity"]
    if os.cpu_count() > 1 and (not affinity or affinity[0]["candidate"] != "0"):
        yield f"bound to processor 0: {affinity}"


def mid_run(runs, _):
    """A change is at the step in which it was made, also where it was taken back in it or later, and
    where nothing trains."""
    key = "flag.cudnn.benchmark"
    cases = [("none", [f"3:{key}=on"], [[3, None]]),
             ("none", [f"3:{key}=on", f"6:{key}=off"], [[3, 6]]),
             ("none", [f"{key}=on", f"2:{key}=off"], [[None, 2]]),
             ("tunes-backward", [], [[0, 7]]),
             ("inference", [f"3:{key}=on"], [[3, None]])]
    for number, (habit, sets, steps) in enumerate(cases):
        flags = [word for one in sets for word in ("--set", one)] + ["--habit", habit]
        plain_habit = "none" if habit == "tunes-backward" else habit
        plain = runs.record(f"plain{number}", ["--steps", "8", "--habit", plain_habit])
        dump = runs.record(f"changing{number}", ["--steps", "8", *flags])
        listed = [row for row in runs.differences(plain, dump) if row["can_change_bits"]]
        expected = [{"key": key, "reference": "off", "candidate": "on", "can_change_bits": True,
                     "steps": steps}]
        if listed != expected:
            yield f"{habit} {sets}: {listed}, expected {expected}"
        if runs.differences(dump, dump):
            yield f"{sets}: differs from itself"
        again = runs.record(f"again{number}", ["--steps", "8", *flags])
        if runs.differences(dump, again):
            yield f"{sets}: a repeat differs"


def build_id(path):
    found = re.search(r"Build ID: (\w+)", output(["readelf", "-n", path]))
    return found.group(1) if found else ""


def cpuinfo(field):
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return next(line.split(": ", 1)[1].rstrip("\n") for line in file if line.startswith(field))


def torch_fact(torch, name):
    with open(os.path.join(torch, "version.py"), encoding="utf-8") as file:
        return re.search(rf"^{name}.*= '([^']*)'", file.read(), re.MULTILINE).group(1)


# As oneDNN itself calls what ONEDNN_MAX_CPU_ISA spells.
ONEDNN_NAMES = {
    "SSE41": "Intel SSE4.1", "AVX": "Intel AVX", "AVX2": "Intel AVX2",
    "AVX2_VNNI": "Intel AVX2 with Intel DL Boost",
    "AVX512_CORE": "Intel AVX-512 with AVX512BW, AVX512VL, and AVX512DQ extensions",
    "AVX512_CORE_VNNI": "Intel AVX-512 with Intel DL Boost",
    "AVX512_CORE_BF16": "Intel AVX-512 with Intel DL Boost and bfloat16 support"}


def wrong_onednn_isa(runs):
    """Against what oneDNN says when a convolution wakes it."""
    program = ["inference_only", "--steps", "1"]
    for number, limit in enumerate(["", "SSE41", "avx2", "AVX2_VNNI", "AVX512_CORE", "none of them",
                                    "AVX512_CORE_VNNI", "AVX512_CORE_FP16"]):
        environment = {"ONEDNN_MAX_CPU_ISA": limit} if limit else {}
        told = output([os.path.join(runs.bin, "digits_resnet"), "--steps", "1"], ONEDNN_VERBOSE="1",
                      **environment)
        oracle = re.search(r"cpu,isa:(.*)", told).group(1)
        dump = runs.record(f"isa{number}", program=program, environment=environment)
        recorded = runs.settings(dump)["cpu.onednn_isa"]
        if oracle in ONEDNN_NAMES.values() and ONEDNN_NAMES.get(recorded) != oracle:
            yield f"limit {limit!r}: recorded {recorded}, oneDNN says {oracle}"
        if oracle not in ONEDNN_NAMES.values() and recorded in ONEDNN_NAMES:
            yield f"limit {limit!r}: recorded {recorded}, oneDNN says {oracle}"


def facts(runs, torch):
    program = os.path.join(runs.bin, "habits")
    settings = runs.settings(runs.record("plain"))
    expected = {
        "torch.version": torch_fact(torch, "__version__").split("+")[0],
        "torch.git": torch_fact(torch, "git_version"),
        "program.path": os.path.realpath(program),
        "program.build_id": build_id(program),
        "library.libtorch_cpu.so": build_id(os.path.join(torch, "lib", "libtorch_cpu.so")),
        "library.libc10.so": build_id(os.path.join(torch, "lib", "libc10.so")),
        "cpu.model": cpuinfo("model name"),
        "cpu.flags": cpuinfo("flags"),
        "cpu.count": output(["getconf", "_NPROCESSORS_ONLN"]).strip(),
        "cpu.affinity": ",".join(map(str, sorted(os.sched_getaffinity(0)))),
        "os.kernel": output(["uname", "-sr"]).strip(),
        "os.libc": output(["getconf", "GNU_LIBC_VERSION"]).split()[1],
        "flag.cpu.allow_fp16_reduced_precision": "off",  # few processors let a program turn it on
    }
    for key, value in expected.items():
        if settings.get(key) != value:
            yield f"{key} is {settings.get(key)!r}, expected {value!r}"
    if not settings["threads.inter_op"].isdigit():
        yield f"threads.inter_op is {settings['threads.inter_op']!r}"
    yield from wrong_onednn_isa(runs)


def secrets(runs, _):
    dump = runs.record("secret", environment={"SERVICE_TOKEN": "hunter2"})
    settings = runs.settings(dump)
    if any("hunter2" in value for value in settings.values()):
        yield "the value of a variable that is on no list is recorded"
    if "SERVICE_TOKEN" not in settings["env_names"].split():
        yield "the name of a variable that is on no list is not recorded"
    if any(name.startswith("ULPSCOPE_") for name in settings["env_names"].split()):
        yield "recording's own variables are recorded"


PARTS = {"changed": changed, "mid-run": mid_run, "facts": facts, "secrets": secrets}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--torch", required=True)
    parser.add_argument("part", choices=PARTS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ulpscope-settings-") as folder:
        wrong = list(PARTS[arguments.part](Runs(arguments.bin, folder), arguments.torch))
    for sentence in wrong:
        print(f"WRONG: {sentence}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Records training on a GPU: that the program is not affected, what it costs, and what a comparison with the
CPU says about a correct program and about five planted bugs.

    recorded.py --bin build/device/bin               on a machine with a GPU
    recorded.py --bin build/release/bin --stand-in   the CPU with a different instruction set in its place

The bin folder holds ulpscope and device_train. Prints a line per check; ends with 1 if one fails.
"""

import argparse
import concurrent.futures
import fnmatch
import glob
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

# What the first finding may be for each bug: kinds, and where.
BUGS = {
    "eps": ({"arguments"}, "block1.bn1"),
    "scale": ({"sequence", "arguments"}, "block2"),
    "mask": ({"sequence"}, None),
    "transposed": ({"sequence", "arguments", "data", "origin"}, None),
    "relu": ({"sequence"}, "block2"),
}
# Ops that LibTorch uses only on a GPU, of which the stand-in can make one wrong: the first finding is that op, or an
# op that calls it.
OPS_OF_GPU = {
    "cudnn_batch_norm": ("batch_norm", "_batch_norm_impl_index"),
    "cudnn_batch_norm_backward": ("cudnn_batch_norm_backward",),
    "_scaled_dot_product_efficient_attention": ("scaled_dot_product_attention",),
    "_scaled_dot_product_efficient_attention_backward": ("_scaled_dot_product_efficient_attention_backward",),
    "_cudnn_rnn": ("lstm",),
    "_cudnn_rnn_backward": ("_cudnn_rnn_backward",),
}
# The same, of tests/device/device_ops.cpp.
OTHER_OPS_OF_GPU = {
    "_thnn_fused_lstm_cell": ("lstm_cell",),
    "_thnn_fused_lstm_cell_backward_impl": ("_thnn_fused_lstm_cell_backward",),
    "_thnn_fused_gru_cell": ("gru_cell",),
    "_thnn_fused_gru_cell_backward": ("_thnn_fused_gru_cell_backward",),
    "log_sigmoid_forward": ("log_sigmoid",),
    "log_sigmoid_backward": ("log_sigmoid_backward",),
    "cudnn_convolution": ("conv2d",),
    "cudnn_convolution_transpose": ("conv_transpose2d",),
}
# Where two runs of tests/device/device_scenarios.cpp diverge first: the op, and a cause among the first three.
# Additions without an order need not diverge, and cuBLAS need not use what it may.
UNORDERED = {
    "index_add": ("aten::index_add_", "atomic"),
    "scatter_add": ("aten::scatter_add_", "atomic"),
    "index_put": ("aten::index_put_", "atomic"),
    "bincount": ("aten::bincount", "atomic"),
    "upsample": ("aten::upsample_bilinear2d_backward", "atomic"),
    "grid_sample": ("aten::grid_sampler_2d_backward", "atomic"),
    "reflection_pad": ("aten::reflection_pad2d_backward", "atomic"),
}
VARIED = {
    "tf32": ("aten::addmm", "tf32"),
    "reduced_sums": ("aten::mm", "reduced-precision"),
    "attention": ("aten::scaled_dot_product_attention", "backend"),
    "reused_memory": ("aten::add", "uninitialised"),
}
MAY_AGREE = {*UNORDERED, "reduced_sums"}
# What `replay` says of a scenario's first op, a part of the sentence.
MECHANISMS = {
    "tf32": "with TF32 in products",
    "index_add": "the op itself is not deterministic",
    "scatter_add": "the op itself is not deterministic",
}
# What tests/device/device_train.py plants: kind, op, module, step of the first finding, and its cause.
PLANTED = {
    ("plain", "rand"): ("rng", "*", "layers.0.drop", 1, "rng-shift"),
    ("plain", "eps"): ("arguments", "aten::layer_norm", "layers.1.ln2", 1, "argument"),
    ("plain", "tf32"): ("origin", "*", None, 0, "tf32"),
    ("plain", "scale"): ("arguments", "aten::mul", "layers.1", 1, "argument"),
    ("plain", "swap"): ("data", "*", None, None, "data-order"),
    ("compiled", "eps"): ("arguments", "inductor::triton_*", None, 1, "compiled"),
    ("triton", "decay"): ("arguments", "triton::averaged", None, 1, "argument"),
}
ONLY_GPU = [("plain", "tf32"), ("compiled", "eps"), ("triton", "decay")]
GROUPS = ["unnoticed", "phases", "graphs", "kernels", "cpu", "ops", "bugs", "scenarios", "replay", "python", "cost"]


class Checks:
    def __init__(self):
        self.failed = []

    def say(self, name, passed, text):
        print(f"{'ok    ' if passed else 'FAILED'} {name}: {text}", flush=True)
        if not passed:
            self.failed.append(name)


class Bench:
    def __init__(self, arguments, folder):
        self.bin = arguments.bin
        self.folder = folder
        self.stand_in = arguments.stand_in
        self.reports = arguments.reports
        self.compared = 0
        self.device = ["--device", "cuda"]
        if arguments.stand_in:
            self.device = ["--device", "cpu", "--ops-of-gpu", "--backward-thread"]
        self.replayer = next(iter(sorted(glob.glob(os.path.join(self.bin, "../lib/ulpscope-replay-*")))), "")
        self.environment = {"ATEN_CPU_CAPABILITY": "avx2"} if arguments.stand_in else {}

    def run(self, command, environment, codes=(0,)):
        done = subprocess.run(command, text=True, capture_output=True, timeout=400,
                              env={**os.environ, "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
                                   **environment})
        assert done.returncode in codes, f"{command} ended with {done.returncode}\n{done.stderr}"
        return done

    def train(self, flags):
        return self.run([os.path.join(self.bin, "device_train"), *self.device, *flags],
                        self.environment)

    def python(self, flags):
        device = "cpu" if self.stand_in else "cuda"
        return [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "device_train.py"),
                "--device", device, *flags]

    def record_python(self, name, flags, level="digest", options=()):
        """The folder of the dump, what the program printed, and the notes of the recording."""
        dump = os.path.join(self.folder, name)
        done = self.run([os.path.join(self.bin, "ulpscope"), "record", "--force", "--level", level, "-o", dump,
                         *options, "--", *self.python(flags)], {})
        with open(os.path.join(dump, "status.json"), encoding="utf-8") as file:
            status = json.load(file)
        assert status["complete"], status
        return dump, done, status["notes"]

    def record(self, name, flags, level="digest", cpu=False, options=(), variables=None, program="device_train"):
        device = ["--device", "cpu"] if cpu else self.device
        if program != "device_train":
            device = [flag for flag in device if flag != "--backward-thread"]
        environment = {"ATEN_CPU_CAPABILITY": "default"} if cpu else self.environment
        dump = os.path.join(self.folder, name)
        done = self.run([os.path.join(self.bin, "ulpscope"), "record", "--force", "--level", level,
                         "-o", dump, *options, "--", os.path.join(self.bin, program), *device,
                         *flags], {**environment, **(variables or {})})
        with open(os.path.join(dump, "status.json"), encoding="utf-8") as file:
            status = json.load(file)
        assert status["complete"], status
        return dump, done

    def compare(self, left, right, *flags):
        done = self.run([os.path.join(self.bin, "ulpscope"), "compare", left, right, *flags,
                         "--format", "json"], {}, codes=(0, 1, 2))
        assert done.stdout, done.stderr
        if self.reports:
            os.makedirs(self.reports, exist_ok=True)
            self.compared += 1
            with open(os.path.join(self.reports, f"{os.getpid()}-{self.compared}.json"), "w", encoding="utf-8") as file:
                file.write(done.stdout)
        return json.loads(done.stdout)


def step_time(done):
    return float(re.search(r"median step ([0-9.]+) s", done.stderr).group(1))


def check_unnoticed(bench, checks):
    """On deterministic settings a recorded run prints what a bare one prints, and is itself again."""
    flags = ["--steps", "6", "--deterministic", "--dropout", "0.1"]
    bare = bench.train(flags).stdout
    checks.say("repeats", bench.train(flags).stdout == bare, "two bare runs give the same bits")
    for level in ("digest", "stats", "full"):
        dump, done = bench.record("one", flags, level)
        checks.say(f"unnoticed at level {level}", done.stdout == bare,
                   "recorded and bare runs print the same")
        again, _ = bench.record("two", flags, level)
        report = bench.compare(dump, again)
        opaque = report["coverage"]["not_compared"]["opaque"]
        checks.say(f"identical at level {level}", report["verdict"] == "identical" and opaque == 0,
                   f"{report['summary']}; {report['reference']['values']} values, {opaque} opaque")


def check_cost(bench, checks):
    """Ratios of recorded to bare steps, interleaved. At level full a step takes so long that one pair is enough."""
    for name, flags in (("width 16", ["--width", "16"]), ("width 64", ["--width", "64"]),
                        ("width 16, attention and LSTM in one op", ["--width", "16", "--fused"])):
        for level, steps, pairs in (("digest", "60", 3), ("full", "5", 1)):
            ratios = []
            for _ in range(pairs):
                several = [*flags, "--steps", "8" if bench.stand_in else steps]
                bare = step_time(bench.train(several))
                _, done = bench.record("cost", several, level)
                ratios.append(step_time(done) / bare)
            say_cost(checks, f"{name}, {level}", ratios)
    for flags in (["--width", "64"], ["--width", "512"], ["--width", "512", "--mode", "compiled"]):
        ratios = []
        for _ in range(2):
            steps = ["--steps", "8" if bench.stand_in else "60"]
            bare = step_time(bench.run(bench.python([*flags, *steps]), {}))
            ratios.append(step_time(bench.record_python("cost", [*flags, *steps])[1]) / bare)
        say_cost(checks, f"python, {' '.join(flags)}, {1000 * bare:.2f} ms", ratios)


def say_cost(checks, name, values):
    checks.say(f"cost, {name}", True,
               f"{statistics.median(values):.3f} ({min(values):.2f}-{max(values):.2f}) "
               f"times the bare step, pairs: {len(values)}")


def check_kernels(bench, checks):
    """Products with and without TF32 are computed by other kernels, and both runs name theirs."""
    if bench.stand_in:
        checks.say("kernels", True, "not looked at: a CPU launches none")
        return
    flags = ["--steps", "2", "--deterministic"]
    bare = bench.train(flags).stdout
    dumps = []
    for precision in ([], ["--tf32"]):
        dump, done = bench.record(f"kernels{len(precision)}", [*flags, *precision], options=["--kernels"])
        dumps.append(dump)
    _, done = bench.record("kernels", flags, options=["--kernels"])
    checks.say("unnoticed with kernels", done.stdout == bare, "recorded and bare runs print the same")
    first = bench.compare(*dumps)["first"]
    names = first["kernels"] if first else {}
    checks.say("kernels", bool(names.get("reference")) and bool(names.get("candidate"))
               and names["reference"] != names["candidate"],
               f"{where(first)}: {names}" if first else "TF32 changes nothing")


def where(finding):
    module = finding["module"] if finding["module"] is not None else finding["between"]
    return f"{finding['kind']} at {finding['op']} of {module}, step {finding['step']}"


def check_phases(bench, checks):
    """What follows backward is not a forward, however the threads of both are read."""
    for _ in range(5):
        dump, _ = bench.record("clipped", ["--steps", "4", "--clip"])
        lines = bench.run([os.path.join(bench.bin, "list_events"), dump], {}).stdout.splitlines()
        phases = {event[7] for event in map(lambda line: line.split("\t"), lines)
                  if event[2] == "main" and event[8] in ("aten::norm", "aten::linalg_vector_norm")}
        checks.say("phases", phases == {"optimizer"}, f"gradients are clipped in {phases}")


def check_graphs(bench, checks):
    """A replay is an event with what the graph reads and writes, and two graphs diverge at one of them."""
    if bench.stand_in:
        checks.say("graphs", True, "not looked at: a CPU has none (on_device.graphs)")
        return
    program = os.path.join(bench.bin, "device_graph")
    bare = bench.run([program], {}).stdout
    dumps = []
    for name, flags in (("one", []), ("two", []), ("second", ["--second"])):
        dumps.append(os.path.join(bench.folder, "graph-" + name))
        done = bench.run([os.path.join(bench.bin, "ulpscope"), "record", "--force", "-o", dumps[-1], "--",
                          program, *flags], {})
        if not flags:
            checks.say(f"unnoticed graph {name}", done.stdout == bare, "recorded and bare runs print the same")
    report = bench.compare(*dumps[:2])
    checks.say("graphs repeat", report["verdict"] == "identical", report["summary"])
    first = bench.compare(dumps[0], dumps[2])["first"]
    checks.say("graphs part", bool(first) and first["op"] == "CUDAGraph::replay",
               where(first) if first else "nothing differs")


def check_against_cpu(bench, checks):
    for name, flags in (("", []), (", attention and LSTM in one op", ["--fused"])):
        flags = ["--steps", "2", *flags]
        cpu, _ = bench.record("cpu", flags, "full", cpu=True)
        device, _ = bench.record("device", flags, "full")
        report = bench.compare(cpu, device, "--budget")
        replay = report["budget"]["replay"] or {}
        checks.say("against the CPU" + name, report["budget"]["outside"] == 0 and replay.get("inside", 0) > 0,
                   f"{report['summary']}; replayed: {replay}")
        first = report["first"]
        checks.say("no bug is reported" + name, report["verdict"] in ("within", "identical", "inconclusive"),
                   where(first) if first else "nothing differs")


def check_ops(bench, checks):
    """Every kind of op that has an error model is within it on both devices, and one that is wrong is not."""
    # Kernels of 16 bits depend on the CPU too much for a test of its ops against each other (budget.py has them).
    for dtype in ["float32"] if bench.stand_in else ["bfloat16", "float16", "float64", "float32"]:
        cpu, _ = bench.record("cpu", ["--dtype", dtype], "full", cpu=True, program="device_ops")
        device, _ = bench.record("device", ["--dtype", dtype], "full", program="device_ops")
        report = bench.compare(cpu, device, "--budget")
        replay = report["budget"]["replay"] or {}
        most = max(report["budget"]["ops"], key=lambda op: op["largest_used"] or 0)
        outside = sorted({one["op"] for one in report["findings"]})
        # Some ops of 16 bits exist on a GPU only, and the program leaves them out elsewhere.
        kinds = {one["kind"] for one in report["findings"] if one["diverges"] and one["kind"] != "origin"}
        inside = report["budget"]["outside"] == 0 and replay.get("outside") == 0 and replay["inside"] > 0
        checks.say(f"every op, {dtype}", inside and kinds <= ({"sequence"} if "16" in dtype else set()),
                   f"{report['summary']}; replayed: {replay}; most is taken by {most['op']}: {most['largest_used']}; findings at {', '.join(outside)}")
    if not bench.stand_in:
        return
    check_wrong_ops(bench, checks, cpu, OTHER_OPS_OF_GPU, [], "device_ops")


def check_wrong_ops(bench, checks, cpu, ops, flags, program):
    """One op after the other that is a hundredth off is the first finding."""
    for op, named in ops.items():
        device, _ = bench.record("device", [*flags, "--wrong-op", op], "full", program=program)
        report = bench.compare(cpu, device, "--budget")
        first = report["first"]
        found = report["verdict"] == "diverged" and first["kind"] == "origin"
        checks.say(f"wrong {op}", found and first["op"].removeprefix("aten::") in named,
                   f"{report['summary']} ({where(first) if first else None})")


def check_bugs(bench, checks):
    flags = ["--steps", "2"]
    cpu, _ = bench.record("cpu", flags, "full", cpu=True)
    for bug, (kinds, module) in BUGS.items():
        device, _ = bench.record("device", [*flags, "--bug", bug], "full")
        report = bench.compare(cpu, device, "--budget")
        first = report["first"]
        found = first is not None and report["verdict"] == "diverged" and first["kind"] in kinds
        found = found and first["step"] == 0 and first["phase"] == "forward"
        if module is not None:
            found = found and (first["module"] or "").startswith(module)
        checks.say(f"bug {bug}", found, f"{report['summary']} ({where(first) if first else None})")
    if not bench.stand_in:
        return
    cpu, _ = bench.record("cpu", [*flags, "--fused"], "full", cpu=True)
    check_wrong_ops(bench, checks, cpu, OPS_OF_GPU, [*flags, "--fused"], "device_train")


def check_scenarios(bench, checks):
    """Ops that give other bits by themselves or by a setting are named, with why."""
    if bench.stand_in:
        checks.say("scenarios", True, "not looked at: a CPU gives the same bits")
        return
    program = os.path.join(bench.bin, "device_scenarios")
    for case, (op, cause) in {**UNORDERED, **VARIED}.items():
        dumps = []
        for number in range(2):
            dumps.append(os.path.join(bench.folder, f"scenario{number}"))
            other = ["--other"] if number == 1 and case in VARIED else []
            bench.run([os.path.join(bench.bin, "ulpscope"), "record", "--force", "--level", "full", "-o", dumps[-1],
                       "--", program, case, *bench.device, *other], {})
        report = bench.compare(*dumps)
        first = report["first"] or {}
        causes = [one["id"] for one in report["causes"] if one["finding"] == 0][:3]
        alike = case in MAY_AGREE and report["verdict"] == "identical"
        checks.say(f"scenario {case}", alike or (first.get("op") == op and cause in causes),
                   "the same bits this time" if alike else f"{report['summary']}; {causes}")


def check_replay(bench, checks):
    """Ops of a GPU are replayed there: they give their recorded bits, and what makes runs differ is named."""
    if bench.stand_in:
        checks.say("replay", True, "not looked at: tests/replay has it on the CPU")
        return
    program = os.path.join(bench.bin, "device_scenarios")
    for case, mechanism in MECHANISMS.items():
        dumps = []
        for number in range(2):
            dumps.append(os.path.join(bench.folder, f"replayed{number}"))
            other = ["--other"] if number == 1 and case in VARIED else []
            bench.run([os.path.join(bench.bin, "ulpscope"), "record", "--force", "--level", "full", "-o", dumps[-1],
                       "--", program, case, *bench.device, *other], {})
        first = bench.compare(*dumps)["first"]
        event = f"setup/{first['event']['reference']}"
        done = bench.run([os.path.join(bench.bin, "ulpscope"), "replay", dumps[0], event, "--with", dumps[1],
                          "--format", "json"], {}, codes=(0, 1, 2))
        report = json.loads(done.stdout)
        checks.say(f"replay {case}", mechanism in report["summary"], report["summary"])
    for program, flags in (("device_train", ["--steps", "1"]), ("device_train", ["--steps", "1", "--fused"]),
                           ("device_ops", [])):
        dump, _ = bench.record("proved", flags, "full", program=program)
        done = bench.run([os.path.join(bench.bin, "prove_ops"), bench.replayer, dump, "0.95"], {}, codes=(0, 1))
        checks.say(f"replay {program} {' '.join(flags)}", done.returncode == 0, done.stdout[-1500:])


def check_python(bench, checks):
    """Python programs are not affected, repeat, and what is planted in one is named with its line."""
    def repeated(mode):
        flags = ["--mode", mode, "--dropout"]
        try:
            bare = bench.run(bench.python(flags), {}).stdout
            results = [bench.record_python(f"python-{mode}-{number}", flags) for number in range(2)]
            report = bench.compare(*(dump for dump, _, _ in results))
        except Exception as error:  # pylint: disable=broad-except
            return f"python {mode}", False, str(error)[-2000:]
        equal = all(done.stdout == bare for _, done, _ in results)
        alone = report["coverage"]["only_reference"] + report["coverage"]["only_candidate"]
        return (f"python {mode}", equal and report["verdict"] == "identical" and alone == 0,
                f"{'prints the same' if equal else 'PRINTS SOMETHING ELSE'}; {report['summary']}; "
                f"{report['reference']['events']} events, {report['coverage']['not_compared']}, "
                f"notes {results[0][2]}")

    def planted(place):
        found, (mode, plant) = None, place
        try:
            dumps = [bench.record_python(f"python-{mode}-{plant}-{name}",
                                         ["--dropout", "--mode", mode, "--plant", name], "full")[0]
                     for name in ("none", plant)]
            report = bench.compare(*dumps)
            first = report["first"]
            causes = [one["id"] for one in report["causes"]]
            found = (*(first[key] for key in ("kind", "op", "module", "step")), causes[0] if causes else None)
            text = f"{report['summary']}; {found}, {first['where']}: {first['source']}"
        except Exception as error:  # pylint: disable=broad-except
            text = str(error)[-2000:]
        right = found is not None and all(wanted is None or fnmatch.fnmatch(str(one), str(wanted))
                                          for wanted, one in zip(PLANTED[place], found))
        return f"python planted {plant}, {mode}", right, text

    def against_cpu(_):
        try:
            flags = ["--steps", "2", "--single-tensor"]  # by default Adam updates lists of tensors on a GPU only
            cpu = bench.record_python("python-cpu", ["--device", "cpu", *flags], "full")[0]
            device = bench.record_python("python-device", flags, "full")[0]
            report = bench.compare(cpu, device, "--budget")
        except Exception as error:  # pylint: disable=broad-except
            return "python against the CPU", False, str(error)[-2000:]
        return ("python against the CPU", report["verdict"] in ("within", "identical") and report["budget"]["outside"] == 0,
                f"{report['summary']}; {report['budget']['replay']}")

    work = [(repeated, mode) for mode in ("compiled", "plain", "amp", "graph", "workers", "streams", "triton")]
    work += [(planted, place) for place in PLANTED] + [(against_cpu, None)]
    if bench.stand_in:  # the CPU's products have no TF32, and it has no Triton
        work = [each for each in work if each[1] != "triton" and each[1] not in ONLY_GPU]
    with concurrent.futures.ThreadPoolExecutor(2 if bench.stand_in else 8) as pool:
        for future in [pool.submit(function, argument) for function, argument in work]:
            checks.say(*future.result())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--stand-in", action="store_true")
    parser.add_argument("--reports", help="a folder that keeps the comparisons' reports")
    parser.add_argument("group", nargs="*", help="of " + ", ".join(GROUPS))
    arguments = parser.parse_args()
    checks = Checks()
    groups = arguments.group or GROUPS
    with tempfile.TemporaryDirectory(prefix="ulpscope-device-") as folder:
        bench = Bench(arguments, folder)
        for name, check in (("unnoticed", check_unnoticed), ("phases", check_phases), ("graphs", check_graphs),
                            ("kernels", check_kernels), ("cpu", check_against_cpu), ("ops", check_ops), ("bugs", check_bugs),
                            ("scenarios", check_scenarios), ("replay", check_replay), ("python", check_python),
                            ("cost", check_cost)):
            if name not in groups:
                continue
            try:
                check(bench, checks)
            except Exception as error:  # pylint: disable=broad-except
                checks.say(name, False, str(error)[-2000:])
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())

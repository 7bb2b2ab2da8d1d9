#!/usr/bin/env python3
"""What recording costs with what people use today, and with Ulpscope, in one run.

    python3 tests/bench/record/peers_bench.py --build build/release [--minutes 8]

The digits ResNet and the transformer in Python, each tool as a ratio to bare steps of the same process
(one thread, bare step and step with the tool in turn; with msprobe, which changes torch for good, the
bare steps come first); below them Ulpscope as a ratio to the bare C++ program of the same model. The
virtual environment is build/peers/venv, of the Python that the wheel in build/torch is for; what is
missing in it is installed, LibTorch is that of build/torch. A tool that cannot be installed or that ends
with an error is listed with the reason. Progress goes to standard error.
"""

import argparse
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from record_bench import MODES, Configuration, head, milliseconds, rotated, row, spread, tell

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
DIGITS = os.path.join(ROOT, "data", "digits", "digits.csv")
ENVIRONMENT = os.path.join(ROOT, "build", "peers")

PROGRAMS = {"resnet": "digits ResNet, width 16", "transformer": "transformer, d 256, 4 layers"}
PAIRS = {"resnet": 6, "transformer": 4}  # in one process
ULPSCOPE_PAIRS = 2  # in one round

NEEDED = ["typing_extensions", "sympy", "networkx", "jinja2", "fsspec", "filelock", "numpy", "setuptools"]
# What the wheel links against and a CUDA toolkit does not have.
CUDA_PACKAGES = {"libcufile.so": "nvidia-cufile", "libcusparseLt.so": "nvidia-cusparselt-cu13",
                 "libnvshmem_host.so": "nvidia-nvshmem-cu13"}

TOOLS = {  # tool: package that it needs, what it looks at
    "hooks, hash_tensor": (None, "outputs of leaf modules, XOR"),
    "hooks, xxh3_128": ("xxhash", "outputs of leaf modules, bytes"),
    "hooks, sha256": (None, "outputs of leaf modules, bytes"),
    "hooks both ways, torch.save": (None, "outputs and their gradients, kept"),
    "DebugMode, outputs": (None, "outputs of ops, XOR"),
    "DebugMode, inputs too": (None, "inputs and outputs of ops, XOR"),
    "torch.profiler": (None, "ops and shapes, no values"),
    "msprobe, statistics": ("mindstudio-probe", "inputs and outputs of functions, both ways"),
    "msprobe, md5": ("mindstudio-probe", "the same and CRC-32"),
}
ULPSCOPE = {
    "digest": "inputs and outputs of ops, 128 bits, verified",
    "digest, verify off": "inputs and outputs of ops, 128 bits",
    "layers": "what crosses modules, both ways",
    "full": "as digest, bytes kept",
}


class Environment:
    """A Python that can import the torch of build/torch."""

    def __init__(self, torch):
        self._torch = torch
        self._folder = os.path.join(ENVIRONMENT, "venv")
        self.python = os.path.join(self._folder, "bin", "python")
        if not os.path.exists(self.python):
            subprocess.check_call([self._matching_python(), "-m", "venv", self._folder])
        for package in NEEDED:
            reason = self.install(package)
            if reason:
                raise SystemExit(f"torch cannot be imported: {reason}")
        self._add_cuda_libraries()
        trial = self.run(["-c", "import torch"])
        if trial.returncode:
            raise SystemExit(f"torch cannot be imported: {last_line(trial.stderr)}")

    def _matching_python(self):
        wheel, = glob.glob(os.path.join(self._torch, "torch-*.dist-info", "WHEEL"))
        with open(wheel, encoding="ascii") as file:
            major, minor = re.search(r"Tag: cp(\d)(\d+)-", file.read()).groups()
        for name in (sys.executable, f"python{major}.{minor}"):
            ask = subprocess.run([name, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                                 capture_output=True, text=True, check=False) if shutil.which(name) else None
            if ask and ask.stdout.strip() == f"{major}.{minor}":
                return name
        raise SystemExit(f"no Python {major}.{minor}, which the wheel in {self._torch} is for")

    def _add_cuda_libraries(self):
        libraries = glob.glob(os.path.join(self._torch, "torch", "lib", "libtorch_*.so"))
        listed = subprocess.run(["ldd", *libraries], capture_output=True, text=True, check=False).stdout
        for library in sorted(set(re.findall(r"(lib[\w]+\.so)\S* => not found", listed))):
            if library in CUDA_PACKAGES:
                self.install(CUDA_PACKAGES[library], "--no-deps")

    def install(self, package, *options):
        """Why it is not there, or nothing."""
        asked = f"import importlib.metadata as m; m.version('{package}')"
        if subprocess.run([self.python, "-c", asked], capture_output=True, check=False).returncode == 0:
            return ""
        tell(f"installing {package}")
        pip = subprocess.run([self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                              *options, package], capture_output=True, text=True, check=False)
        return last_line(pip.stderr) if pip.returncode else ""

    def run(self, arguments, **options):
        variables = dict(os.environ, PYTHONPATH=self._torch, PYTHONWARNINGS="ignore")
        found = glob.glob(os.path.join(self._folder, "lib", "python*", "site-packages", "nvidia", "*", "lib"))
        variables["LD_LIBRARY_PATH"] = ":".join([*found, variables.get("LD_LIBRARY_PATH", "")])
        return subprocess.run([self.python, *arguments], env=variables, capture_output=True, text=True,
                              check=False, **options)


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else "it ended with an error and no message"


class Tool:
    """One tool on one model: what its processes measured, or why nothing."""

    def __init__(self, environment, model, name):
        self.name, self.model = name, model
        self.ratios, self.bare, self.left = [], [], []
        package = TOOLS[name][0]
        self.reason = environment.install(package) if package else ""
        self._environment = environment

    def measure(self, scratch):
        if self.reason:
            return
        folder = tempfile.mkdtemp(prefix="ulpscope-bench-", dir=scratch)
        try:
            process = self._environment.run([os.path.join(HERE, "peer_run.py"), self.model, self.name,
                                             str(PAIRS[self.model]), DIGITS, folder], timeout=120)
        except subprocess.TimeoutExpired:
            self.reason = "it took longer than two minutes"
            return
        finally:
            shutil.rmtree(folder)
        if process.returncode:
            self.reason = last_line(process.stderr)
            return
        measured = json.loads(last_line(process.stdout))
        self.ratios += [tool / bare for bare, tool in zip(measured["bare"], measured["with"])]
        self.bare += measured["bare"]
        self.left.append(measured["left"])

    def print_row(self, first):
        if not self.ratios:
            reason = self.reason or "no time was left"
            row(*first, self.name, TOOLS[self.name][1], "", f"skipped: {reason}", "", "")
            return
        left = statistics.median(self.left)
        row(*first, self.name, TOOLS[self.name][1], len(self.ratios), f"{statistics.median(self.ratios):.2f}",
            spread(self.ratios), f"{left / 1e6:.2f} MB" if left else "")


class Ulpscope:
    """One mode of recording the C++ program of the same model."""

    def __init__(self, configuration, mode):
        self._configuration, self._mode = configuration, mode
        self.ratios, self.bare, self.left = [], [], []

    def measure(self, _):
        for _ in range(ULPSCOPE_PAIRS):
            bare = self._configuration.bare()
            recorded = self._configuration.recorded_in(self._mode)
            self.bare.append(bare.step)
            self.ratios.append(recorded.step / bare.step)
            self.left.append(self._configuration.left_per_step(self._mode, recorded))

    def print_row(self, first):
        if not self.ratios:
            row(*first, f"ulpscope, {self._mode}", ULPSCOPE[self._mode], "", "skipped: no time was left", "", "")
            return
        row(*first, f"ulpscope, {self._mode}", ULPSCOPE[self._mode], len(self.ratios),
            f"{statistics.median(self.ratios):.2f}", spread(self.ratios),
            f"{statistics.median(self.left) / 1e6:.2f} MB")


def measure(tools, rounds, seconds, scratch):
    begin, longest = time.monotonic(), 0.0
    for turn in range(rounds):
        round_begin = time.monotonic()
        if turn > 0 and round_begin + longest > begin + seconds:
            return
        for tool in rotated(tools, turn):
            if time.monotonic() > begin + seconds:
                return
            tool.measure(scratch)
        longest = max(longest, time.monotonic() - round_begin)
        tell(f"round {turn + 1}, {time.monotonic() - round_begin:.0f} s")


def print_table(model, tools):
    name = PROGRAMS[model]
    for kind, word in ((Tool, "Python"), (Ulpscope, "C++")):
        of_kind = [tool for tool in tools if isinstance(tool, kind)]
        bares = [seconds for tool in of_kind for seconds in tool.bare]
        if not of_kind:
            continue
        first = (f"{name}, {word}", milliseconds(statistics.median(bares)) if bares else "")
        for tool in of_kind:
            tool.print_row(first)
            first = ("", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="build folder with bin/ulpscope")
    parser.add_argument("--torch", default=os.path.join(ROOT, "build", "torch"), help="where the wheel was unpacked")
    parser.add_argument("--minutes", type=float, default=8, help="about how long all may take")
    parser.add_argument("--rounds", type=int, default=9, help="at most so many")
    parser.add_argument("--only", default="", help="tools whose name contains this")
    parser.add_argument("--models", default=",".join(PROGRAMS), help="resnet,transformer")
    parser.add_argument("--scratch", help="folder on the disk that is written to")
    arguments = parser.parse_args()
    begin = time.monotonic()
    environment = Environment(arguments.torch)

    models, results = arguments.models.split(","), {}
    for index, model in enumerate(models):
        configuration = Configuration(PROGRAMS[model], os.path.join(arguments.build, "bin"), arguments.scratch,
                                      threads=1, steps=None)
        tools = [Tool(environment, model, name) for name in TOOLS if arguments.only in name]
        tools += [Ulpscope(configuration, mode) for mode in MODES
                  if mode in ULPSCOPE and arguments.only in f"ulpscope, {mode}"]
        left = begin + 60 * arguments.minutes - time.monotonic()
        tell(f"{PROGRAMS[model]}: {len(tools)} tools")
        measure(tools, arguments.rounds, left / (len(models) - index), arguments.scratch)
        results[model] = tools

    print("Step time as a ratio to the bare step of the same program, 1 thread: median and range over the pairs. "
          f"Load of the machine after: {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors.\n")
    head("program", "bare step", "tool", "what it looks at", "pairs", "step time", "range", "left per step")
    for model, tools in results.items():
        print_table(model, tools)
    tell(f"took {(time.monotonic() - begin) / 60:.1f} minutes")


if __name__ == "__main__":
    main()

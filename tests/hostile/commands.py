"""The commands that read dumps, each with every form of output, and what they may do."""

import os
import resource
import shutil
import subprocess
import sys

MEMORY = 512 << 20
ENDLESS = 120  # seconds after which a command is taken to run for ever


def commands(dump, other, output):
    """Every way to read `dump`; the reports of comparisons go to files in `output` too."""
    for form in ("text", "json"):
        yield ["compare", dump, other, "--format", form]
        yield ["verify", dump, "--format", form]
        yield ["env", dump, other, "--format", form, "--all"]
    for form in ("markdown", "junit", "sarif", "github"):
        yield ["compare", dump, other, "--format", form]
    yield ["compare", other, dump]
    yield ["compare", dump, other, "--by", "layers"]
    yield ["compare", dump, other, "--budget", "--max-ulp", "4"]
    yield ["compare", dump, other, "--golden", "-o", f"json={output}/report.json"]
    yield ["inspect", dump]
    for path in ("settings", "checks", "layers", "0", "event:1", "**", "event:1/output.0"):
        yield ["inspect", dump, path]
    yield ["export", dump, "**", "-o", f"{output}/all.h5", "--force"]
    yield ["export", dump, "**", "-o", f"{output}/all", "--force"]
    yield ["export", dump, "event:1/output.0", "-o", f"{output}/one.npy", "--force"]


def limit():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # An address space of that size is not enough for a sanitizer's shadow.
    if "sanitized" not in os.environ:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def run(ulpscope, arguments, trace=None):
    """Runs a command with little memory; `trace` is a file for the paths it opens."""
    tracer = ["strace", "-f", "-qq", "-e", "trace=open,openat,creat", "-o", trace] if trace else []
    return subprocess.run(
        [*tracer, ulpscope, *arguments],
        capture_output=True,
        timeout=ENDLESS * (2 if trace else 1),
        check=False,
        preexec_fn=limit,
        env={**os.environ, "NO_COLOR": "1", "ULPSCOPE_WIDTH": "120"},
    )


def is_sanitized(ulpscope):
    with open(ulpscope, "rb") as file:
        return b"__asan_report_load8" in file.read()  # recording knows the name of __asan_init


def begin(arguments):
    """The command, made absolute, and the dumps."""
    ulpscope = os.path.realpath(arguments[1])
    if is_sanitized(ulpscope):
        os.environ["sanitized"] = "1"
    return ulpscope, os.path.realpath(arguments[2])


def strace():
    """Whether files that are opened can be listed here."""
    return shutil.which("strace") is not None and subprocess.run(
        ["strace", "-qq", "true"], capture_output=True, check=False).returncode == 0


def finish(rows, failures):
    print("| what | times |\n|---|---|")
    for what, times in sorted(rows.items()):
        print(f"| {what} | {times} |")
    for sentence in failures[:20]:
        print(f"FAILED: {sentence}", file=sys.stderr)
    return 1 if failures else 0

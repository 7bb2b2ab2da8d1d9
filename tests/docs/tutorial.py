#!/usr/bin/python3
"""Follows a page of documentation: writes the files that it shows, runs the commands of its consoles in their order
and holds what they print against the lines that the page shows.

    tutorial.py --bin FOLDER [--python PYTHON] --torch PACKAGES [--program FILE]... [--keep FOLDER] PAGE

A line `...` stands for any lines. In a block after <!-- numbers vary --> the numbers of lines that say how large
something is (a loss, a difference, a dump) or how much differs, and the names of instruction sets, are not compared, because they depend on
the processor. All others are. Commands find each PROGRAM in the folder that they run in.
A page that says <!-- needs a GPU --> is not followed without one: then this ends with 77.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile

from pages import NEEDS_GPU, blocks, read

END = "\x1eend of command"
NUMBER = re.compile(r"0x[0-9a-f]+|\d[\d,.]*(e[-+]\d+)?|[█▏▎▍▌▋▊▉]+")
# Lines whose numbers depend on the processor.
MEASURES = re.compile(r"\bloss |ulpscope: recorded | ULP|absolute +\d|scaled +\d| differ \(|(reference|candidate) +-?\d"
                      r"|takes \d|elements, |events propagated|^propagated |largest difference, at|^ +│ +where "
                      r"|more findings show| values, level |^aligned |^kept "
                      r"|[\d,]+ {2,}[\d.,]+(e-\d+)?( +[█▏▎▍▌▋▊▉]+)?$")
WAITED = re.compile(r", waited .* for the disk$")
INSTRUCTION_SETS = re.compile(r"(ATen capability|oneDNN) (?!off)[A-Z][A-Z0-9_]+")
# What stands to the right of a difference: a row of its histogram, of which there are more or fewer.
HISTOGRAM = re.compile(r" {3,}(ULP distance +elements|[\d,]+( - [\d,]+)? +[\d,]+( +[█▏▎▍▌▋▊▉]+)?)$")


def without_numbers(line):
    line = INSTRUCTION_SETS.sub(r"\1 #", WAITED.sub("", line))
    if not MEASURES.search(line):
        return line
    line = HISTOGRAM.sub("", line)
    return re.sub(r"[ ─]+", " ", NUMBER.sub("#", line)).replace("-#", "#").rstrip()


def of_any_processor(lines):
    """Lines without what depends on the processor; a histogram that goes on below its frame is one line of it."""
    kept = []
    for line in map(without_numbers, lines):
        if kept[-1:] != [line] or line.strip() != "│":
            kept.append(line)
    return kept


def fits(shown, printed):
    """Whether the printed lines are the shown ones, with `...` for any; else the first shown line that has none."""
    places = {0}
    for number, line in enumerate(shown):
        if line.strip() == "...":
            places = set(range(min(places), len(printed) + 1))
        else:
            places = {place + 1 for place in places if place < len(printed) and printed[place] == line}
        if not places:
            return False, number
    return len(printed) in places, len(shown)


def environment(bin_folder, python, packages, work):
    """Commands find the ulpscope that is tested, and a python3 that has PyTorch."""
    tools = os.path.join(work, "tools")
    os.mkdir(tools)
    with open(os.path.join(tools, "python3"), "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n"
                   f'PYTHONPATH={shlex.quote(packages)} PYTHONDONTWRITEBYTECODE=1 exec {shlex.quote(python)} "$@"\n')
    os.chmod(os.path.join(tools, "python3"), 0o755)
    settings = {name: value for name, value in os.environ.items()
                if not name.startswith(("ULPSCOPE_", "PYTHON", "OMP_", "MKL_", "COLUMNS"))}
    return {**settings, "PATH": f"{tools}:{bin_folder}:{settings['PATH']}", "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}


def run(commands, folder, settings):
    """What each command prints, all in one shell."""
    script = "".join(f"{command}\nstatus=$?; printf '%s\\n' {shlex.quote(END)}; (exit $status)\n"
                     for command in commands)
    result = subprocess.run(["bash"], input=script, cwd=folder, env=settings, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, check=False)
    printed = result.stdout.split(END + "\n")
    assert len(printed) == len(commands) + 1, f"the shell ended early:\n{result.stdout}"
    return [text.splitlines() for text in printed[:-1]]


def follow(page, folder, settings):
    """How many commands ran, and what differs."""
    wrong, ran = [], 0
    for block in blocks(page):
        if block.file:
            with open(os.path.join(folder, block.file), "w", encoding="utf-8") as file:
                file.write(block.text)
            continue
        commands = [command for command, _ in block.commands]
        for (command, shown), printed in zip(block.commands, run(commands, folder, settings)):
            ran += 1
            lines = printed
            if block.numbers_vary:
                shown, lines = of_any_processor(shown), of_any_processor(printed)
            fit, number = fits(shown, lines)
            if not fit:
                missed = shown[number] if number < len(shown) else "more than the page shows"
                wrong.append(f"{page}:{block.line}: $ {command}\nmissing: {missed}\nprinted:\n" + "\n".join(printed))
    return ran, wrong


def has_gpu():
    try:
        return "GPU" in subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--torch", required=True)
    parser.add_argument("--program", action="append", default=[])
    parser.add_argument("--keep", help="a folder to run in, which stays")
    parser.add_argument("page")
    options = parser.parse_args()
    if NEEDS_GPU in read(options.page) and not has_gpu():
        print("skipped: there is no GPU here")
        return 77
    with tempfile.TemporaryDirectory() as work:
        settings = environment(os.path.abspath(options.bin), options.python, os.path.abspath(options.torch), work)
        folder = os.path.abspath(options.keep or os.path.join(work, "run"))
        os.makedirs(folder, exist_ok=True)
        for program in options.program:
            os.symlink(os.path.abspath(program), os.path.join(folder, os.path.basename(program)))
        ran, wrong = follow(options.page, folder, settings)
    assert ran, f"{options.page} has no command"
    print("\n\n".join(wrong) or f"{ran} commands printed what the page shows")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

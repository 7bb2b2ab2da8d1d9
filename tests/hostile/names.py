"""Runs in which everything that has a name has one that means harm.

names.py ULPSCOPE DUMPS: whatever a command prints or writes as text is UTF-8 without characters
that steer a terminal or turn text around; JSON is ASCII.
"""

import collections
import json
import os
import subprocess
import sys
import tempfile

import commands

# Besides control characters: zero-width, line separators, and what changes the direction of text.
STEERING = {0x061C, *range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0xFEFF}


def harm_in(said, is_json):
    """The first thing in these bytes that should not be there, None where all is well."""
    try:
        text = said.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"no UTF-8: {said[error.start:error.start + 20]}"
    for place, character in enumerate(text):
        code = ord(character)
        steers = code < 0x20 or 0x7F <= code < 0xA0 or code in STEERING
        if (steers and character != "\n") or (is_json and code > 0x7E):
            return f"U+{code:04X} in {text[max(place - 40, 0):place + 20]!r}"
    if is_json:
        json.loads(text)
    return None


def main():
    ulpscope, dumps = commands.begin(sys.argv)
    rows, failures = collections.Counter(), []
    dump, other = os.path.join(dumps, "names"), os.path.join(dumps, "names_other")
    with tempfile.TemporaryDirectory() as output:
        more = [["recover", dump], ["inspect", other], ["inspect", other, "checks"],
                ["inspect", other, "settings"], ["verify", other], ["explain", "\x1b[2J\u202e"],
                ["compare", dump, "\x1b[2J\u202e"], ["inspect", dump, "\x1b[2J\u202e"],
                ["\x1b[2J"], ["compare", dump, other, "--\x1b[2J"],
                ["compare", dump, other, "--format", "\x1b[2J"],
                ["compare", dump, other, "--tolerance", "\x1b[2J"],
                ["compare", dump, other, "--map", "\x1b[2J"]]
        page = os.path.join(output, "report.html")
        more.append(["compare", dump, other, "-o", f"html={page}"])
        hostile_rules = os.path.join(output, "rules.toml")
        with open(hostile_rules, "wb") as file:
            file.write(b'[[rule]]\n"\x1b[2J\xe2\x80\xae" = 1\n')
        more.append(["compare", dump, other, "--tolerance", hostile_rules])
        hostile_map = os.path.join(output, "map")
        with open(hostile_map, "wb") as file:
            file.write(b"\x1b[2J\xe2\x80\xae \xff\n")
        more.append(["compare", dump, other, "--map", hostile_map])
        for arguments in [*commands.commands(dump, other, output), *more]:
            words = " ".join(arguments).replace(dumps + "/", "")
            result = commands.run(ulpscope, arguments)
            if result.returncode not in (0, 1, 2):
                failures.append(f"{words!r}: exit code {result.returncode}")
            is_json = "json" in arguments
            for name, said in (("stdout", result.stdout), ("stderr", result.stderr)):
                harm = harm_in(said, is_json and name == "stdout" and said != b"")
                if harm:
                    failures.append(f"{words!r}: {name}: {harm}")
            rows[f"{arguments[0]!r}: exit code {result.returncode}"] += 1
        report = os.path.join(output, "report.json")
        with open(report, "rb") as file:
            harm = harm_in(file.read(), True)
            if harm:
                failures.append(f"report.json: {harm}")
        with open(page, "rb") as file:
            harm = harm_in(file.read(), False)
            if harm:
                failures.append(f"report.html: {harm}")
        for root, _, files in os.walk(output):
            for name in files:
                if harm_in(name.encode(errors="surrogateescape"), False):
                    failures.append(f"a file is called {os.path.join(root, name)!r}")
    return commands.finish(rows, failures)


if __name__ == "__main__":
    sys.exit(main())

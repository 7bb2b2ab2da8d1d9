#!/usr/bin/env python3
"""Parameters that share one memory, and gradients that do, have each its own name.

    shared_storage.py --bin build/release/bin
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

SHAPES = {"0.weight": "[48, 64]", "0.bias": "[48]", "2.weight": "[10, 48]", "2.bias": "[10]"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    bin_folder = os.path.abspath(parser.parse_args().bin)

    def ulpscope(*arguments):
        return subprocess.run([os.path.join(bin_folder, "ulpscope"), *arguments], capture_output=True, text=True,
                              check=False, timeout=200).stdout

    wrong = []
    with tempfile.TemporaryDirectory(prefix="ulpscope-shared-") as folder:
        def record(name, *flags):
            dump = os.path.join(folder, name)
            ulpscope("record", "--level", "full", "-o", dump, "--", os.path.join(bin_folder, "flat_parameters"), "--steps", "3", *flags)
            return dump

        one, two, other = record("one"), record("two"), record("other", "--bias-scale", "1.5")
        values = dict(re.findall(r"^(\S+) +float32 (\[[\d, ]+\])", ulpscope("inspect", one, "**"), re.M))
        for name, shape in SHAPES.items():
            for path in (f"setup/parameters/{name}", f"steps/000001/backward/{name}.grad"):
                if values.get(path) != shape:
                    wrong.append(f"{path} has the shape {values.get(path)}, not {shape}")
        equal = json.loads(ulpscope("compare", one, two, "--format", "json"))
        if equal["verdict"] != "identical":
            wrong.append(equal["summary"])
        first = json.loads(ulpscope("compare", one, other, "--format", "json"))["first"]
        tensors = first["tensors"] if first else []
        named = {tensor["name"] for tensor in tensors if tensor["role"] == "input" and not tensor["equal"]}
        if named != {"0.bias"}:
            wrong.append(f"a bias that is scaled is found as {named}")
    return "\n".join(wrong) or None


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""A program that loads a plugin, which brings LibTorch, is recorded from the first op on, with its modules.

    plugin.py --bin build/release/bin --lib build/release/lib
"""

import argparse
import os
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--lib", required=True)
    arguments = parser.parse_args()
    ulpscope = os.path.join(arguments.bin, "ulpscope")
    program = [os.path.join(arguments.bin, "plugin_host"), os.path.join(arguments.lib, "libtraining_plugin.so")]

    def run(*command):
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)

    wrong = []
    with tempfile.TemporaryDirectory(prefix="ulpscope-plugin-") as folder:
        bare = run(*program)
        dumps = [os.path.join(folder, name) for name in ("one", "two")]
        for dump in dumps:
            recorded = run(ulpscope, "record", "--require", "-o", dump, "--", *program)
            if (recorded.returncode, recorded.stdout) != (0, bare.stdout) or not bare.stdout:
                wrong.append(f"bare: {bare}\nrecorded: {recorded}")
        compared = run(ulpscope, "compare", *dumps)
        if compared.returncode != 0:
            wrong.append(compared.stdout)
        layers = run(ulpscope, "inspect", dumps[0], "layers").stdout
        if layers.count("Linear") != 2:
            wrong.append(f"the plugin's modules are not among these:\n{layers}")
    return "\n".join(wrong) or None


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Records a program as it is and with the capture library that takes every tensor for one on a device, and
checks that both dumps are the same run, value for value, and that the program prints what it does bare.

    on_device.py --bin build/release/bin --twin build/release/tests/capture/twin/bin PROGRAM [FLAG...]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile


def run(command):
    done = subprocess.run(command, text=True, capture_output=True, timeout=280)
    assert done.returncode in (0, 1), f"{command} ended with {done.returncode}\n{done.stderr}"
    return done


def record(ulpscope, folder, name, level, command):
    dump = os.path.join(folder, f"{name}-{level}")
    done = run([ulpscope, "record", "--level", level, "-o", dump, "--", *command])
    with open(os.path.join(dump, "status.json"), encoding="utf-8") as file:
        status = json.load(file)
    return dump, done.stdout, status


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--twin", required=True)
    parser.add_argument("--uneven", action="store_true",
                        help="how much the program does depends on how its threads run")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    command = [os.path.join(arguments.bin, arguments.command[0]), *arguments.command[1:]]
    ulpscope = os.path.join(arguments.bin, "ulpscope")
    bare = run(command).stdout
    wrong = []
    with tempfile.TemporaryDirectory(prefix="ulpscope-on-device-") as folder:
        for level in ("digest", "stats", "full"):
            here, _, _ = record(ulpscope, folder, "here", level, command)
            there, printed, status = record(os.path.join(arguments.twin, "ulpscope"), folder,
                                            "there", level, command)
            if printed != bare:
                wrong.append(f"{level}: the program printed other results")
            if not status["complete"]:
                wrong.append(f"{level}: incomplete: {status['reason']}")
            run([ulpscope, "verify", there])
            report = json.loads(run([ulpscope, "compare", here, there, "--format", "json"]).stdout)
            counts = [report[side] for side in ("reference", "candidate")]
            print(f"{level}: {report['verdict']}, {counts[0]['values']} and {counts[1]['values']} values")
            if report["verdict"] != "identical" or report["findings"] and not arguments.uneven:
                wrong.append(f"{level}: {report['summary']}")
            if counts[0]["values"] != counts[1]["values"] and not arguments.uneven:
                wrong.append(f"{level}: {counts[0]['values']} and {counts[1]['values']} values")
            if report["coverage"]["not_compared"]["opaque"]:
                wrong.append(f"{level}: {report['coverage']['not_compared']['opaque']} are opaque")
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

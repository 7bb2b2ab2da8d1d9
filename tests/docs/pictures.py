#!/usr/bin/python3
"""Makes the pictures of cli/docs/pictures again, from what the commands of the tutorials leave.

    pictures.py --bin FOLDER [--python PYTHON] --torch PACKAGES [--work FOLDER]

A tutorial that leaves NAME.svg, where NAME is its own name, has this picture; one that leaves report.html a screenshot
of it. With --work, tutorials run there, and those that have run are not run again.
"""

import argparse
import base64
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
DOCS = os.path.join(HERE, "..", "..", "cli", "docs")
sys.path.insert(0, os.path.join(HERE, "..", "html"))

from browser import Browser  # noqa: E402

WIDTH, HEIGHT = 1100, 640
LARGEST = 100_000
NOT_HERE = 77  # the tutorial needs a device that is not here


def screenshot(browser, page, picture):
    browser.command("Emulation.setScrollbarsHidden", hidden=True)
    browser.open(page, width=WIDTH)
    shot = browser.command("Page.captureScreenshot", format="webp", quality=90,
                           clip={"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT, "scale": 1})
    with open(picture, "wb") as file:
        file.write(base64.b64decode(shot["data"]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--torch", required=True)
    parser.add_argument("--work")
    options = parser.parse_args()
    pictures = os.path.join(DOCS, "pictures")
    os.makedirs(pictures, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary, Browser() as browser:
        for page in sorted(os.listdir(os.path.join(DOCS, "tutorials"))):
            name = os.path.splitext(page)[0]
            folder = os.path.join(options.work or temporary, name)
            if not os.path.isdir(folder):
                done = subprocess.run([sys.executable, os.path.join(HERE, "tutorial.py"), "--bin", options.bin,
                                       "--python", options.python, "--torch", options.torch, "--keep", folder,
                                       os.path.join(DOCS, "tutorials", page)], check=False)
                if done.returncode == NOT_HERE:
                    continue
                done.check_returncode()
            made = []
            if os.path.exists(os.path.join(folder, "report.html")):
                made.append(os.path.join(pictures, name + ".webp"))
                screenshot(browser, os.path.join(folder, "report.html"), made[-1])
            if os.path.exists(os.path.join(folder, name + ".svg")):
                made.append(os.path.join(pictures, name + ".svg"))
                shutil.copyfile(os.path.join(folder, name + ".svg"), made[-1])
            for picture in made:
                size = os.path.getsize(picture)
                print(f"{os.path.relpath(picture)}: {size:,} bytes")
                assert size < LARGEST, f"{picture} is too large to commit"


if __name__ == "__main__":
    main()

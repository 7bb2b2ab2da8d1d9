#!/usr/bin/env bash
# setup_wheels.sh SETUP FOLDER: wheels that cli/setup.sh unpacks one after the other into a folder are all there, also if
# they have folders in common as those of the CUDA libraries do.
set -euo pipefail
setup=$(realpath "$1")
rm -rf "$2"
mkdir -p "$2/cli"
cd "$2"
sed '/^install_packages$/,$d' "$setup" >cli/functions.sh  # what it defines, without what it does
/usr/bin/python3 - <<'PYTHON'
import zipfile


def wheel(name, **files):
    about = f"{name}-1.dist-info"
    files = {path.replace("__", "/"): content for path, content in files.items()}
    with zipfile.ZipFile(f"{name}-1-py3-none-any.whl", "w") as archive:
        for path, content in {**files, f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n",
                              f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
                              f"{about}/RECORD": ""}.items():
            archive.writestr(path, content)


wheel("first", vendor__lib__first="1", vendor__both="old")
wheel("second", vendor__lib__second="2", vendor__both="new")
PYTHON
# shellcheck source=/dev/null
source cli/functions.sh
unpack_wheels unpacked ./first-1-py3-none-any.whl
unpack_wheels unpacked ./second-1-py3-none-any.whl
found=$(cd unpacked/vendor && cat lib/first lib/second both)
[[ $found == 12new ]] || { echo "not 12new: $found"; exit 1; }
[[ ! -e unpacked.unpacked ]]

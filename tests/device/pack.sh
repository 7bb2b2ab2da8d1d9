#!/usr/bin/env bash
# Collects what a machine with a GPU cannot build without HDF5: `ulpscope` and `list_events` with the
# libraries that they need, and the program that replays ops. tests/device/run.sh takes it from there.
#
#   tests/device/pack.sh [BUILD] [PACK]      build/release, build/pack
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly build=${1:-build/release}
readonly pack=${2:-build/pack}
command -v patchelf >/dev/null || {
  echo "pack: patchelf is needed: apt-get install patchelf" >&2
  exit 1
}

rm -rf "$pack"
mkdir -p "$pack/bin" "$pack/deps" "$pack/lib"
cp "$build/bin/ulpscope" "$build/bin/list_events" "$pack/bin/"
cp "$build"/lib/ulpscope-replay-* "$pack/lib/"
strip "$pack"/bin/*
# The C library and what belongs to it are those of the machine.
ldd "$build/bin/ulpscope" | awk '$3 ~ /^\// {print $3}' |
  grep -vE '/(libc|libm|libdl|librt|libpthread|libresolv|libgcc_s)\.so' |
  xargs -I{} cp -L {} "$pack/deps/"
# What the libraries need is looked for in the same place.
for program in "$pack"/bin/*; do patchelf --force-rpath --set-rpath '$ORIGIN/../deps' "$program"; done
for library in "$pack"/deps/*; do patchelf --force-rpath --set-rpath '$ORIGIN' "$library"; done
"$pack/bin/ulpscope" --version
du -sh "$pack"

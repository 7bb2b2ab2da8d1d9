#!/usr/bin/env bash
# Collects what a machine with a GPU cannot build without HDF5: `ulpscope`, `list_events` and `prove_ops`
# with the libraries that they need, and the program that replays ops. tests/device/run.sh takes it from there.
#
#   tests/device/pack.sh [BUILD] [PACK] [DEVICE_BUILD]      build/release, build/pack
#
# With DEVICE_BUILD, what run.sh would build is collected from there too, so that it only runs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly build=${1:-build/release}
readonly pack=${2:-build/pack}
readonly device=${3:-}
command -v patchelf >/dev/null || {
  echo "pack: patchelf is needed: apt-get install patchelf" >&2
  exit 1
}

rm -rf "$pack"
mkdir -p "$pack/bin" "$pack/deps" "$pack/lib"
if [[ -n $device ]]; then
  cmake --build "$device" -j "$(nproc)"
  cp "$device"/bin/* "$pack/bin/"
  cp "$device"/lib/*.so "$pack/lib/"
  cp -r "$device/lib/python" "$pack/lib/"
  # Modules of a program are found by its symbols.
  strip --strip-unneeded "$pack"/bin/*_check "$pack"/lib/*.so
fi
cp "$build"/bin/{ulpscope,list_events,prove_ops} "$pack/bin/"
cp "$build"/lib/ulpscope-replay-* "$pack/lib/"
strip "$pack"/bin/{ulpscope,list_events,prove_ops}
# The test of a tutorial reads Markdown.
mkdir -p "$pack/python"
for module in markdown_it mdurl; do
  folder=$(/usr/bin/python3 -c "import $module, os; print(os.path.dirname($module.__file__))" 2>/dev/null) &&
    cp -rL "$folder" "$pack/python/"
done
# The C library and what belongs to it are those of the machine.
ldd "$build/bin/ulpscope" | awk '$3 ~ /^\// {print $3}' |
  grep -vE '/(libc|libm|libdl|librt|libpthread|libresolv|libgcc_s)\.so' |
  xargs -I{} cp -L {} "$pack/deps/"
# What the libraries need is looked for in the same place.
for program in "$pack"/bin/*; do patchelf --force-rpath --set-rpath '$ORIGIN/../deps:$ORIGIN/../lib' "$program"; done
for library in "$pack"/deps/*; do patchelf --force-rpath --set-rpath '$ORIGIN' "$library"; done
"$pack/bin/ulpscope" --version
du -sh "$pack"

#!/usr/bin/env bash
# Builds the wheel of `ulpscope` into OUT, build/dist if not given. `bash cli/setup.sh` installs what it needs.
#
#   build_wheel.sh [OUT]
#
#   ULPSCOPE_OTHER_TORCHES  LibTorches to build for beside the one that CMake finds: folders that hold
#                           lib/libtorch_cpu.so, separated by colons
set -euo pipefail
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
out=$(realpath -m "${1:-$root/build/dist}")
readonly root out tools=$root/build/wheel-tools
cd "$root"
# shellcheck source=lib/cmake/other_torches.sh
source lib/cmake/other_torches.sh

[[ -x $tools/bin/auditwheel ]] || {
  echo "build_wheel: $tools has no auditwheel: run bash cli/setup.sh" >&2
  exit 1
}
# The compiler by the name that CMake takes, and paths as other builds have them: ccache has most of it then.
export CC=${CC:-cc} CXX=${CXX:-c++} PATH=$tools/bin:$PATH
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros

work=$(mktemp -d)
readonly work
trap 'rm -rf "$work"' EXIT

builds=$(build_for_other_torches wheel-other "\$ORIGIN/../../../../torch/lib")
pip wheel --quiet --no-build-isolation --no-deps --no-index --wheel-dir "$work" \
  --config-settings "cmake.define.ULPSCOPE_OTHER_BUILDS=$builds" .
# LibTorch, CUDA and MPI are those of the process that opens a library of the wheel.
auditwheel repair --wheel-dir "$out" --exclude 'libtorch*' --exclude 'libc10*' --exclude 'libcud*' \
  --exclude 'libcupti*' --exclude 'libmpi*' "$work"/ulpscope-*.whl

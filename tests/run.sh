#!/usr/bin/env bash
# Installs what is missing, builds everything and runs the tests: those that need no LibTorch with
# sanitizers too. Ends with ctest's summary; fails if any test failed.
#
#   --all   long sweeps (label extended) as well
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

selection=(-LE extended)
case ${1:-} in
  "") ;;
  --all) selection=() ;;
  *)
    echo "usage: bash tests/run.sh [--all]" >&2
    exit 2
    ;;
esac
readonly selection

jobs=$(nproc)
readonly jobs
# The driver of a GPU compiles the rest: machine code for four generations takes a minute and a half.
export CUDAARCHS=${CUDAARCHS:-75-virtual}

passed() { printf 'run: %s: %d s since the start\n' "$1" "$SECONDS"; }

bash cli/setup.sh
passed set-up

# Lets a fresh clone elsewhere reuse what ccache keeps, of sources with a precompiled header too; that header of 700 MB
# is not hashed again for each of them.
export CCACHE_BASEDIR=$PWD CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_INODECACHE=1
# Whether an empty cache has a source need not be found out by preprocessing it.
if [[ $(ccache --print-stats 2>/dev/null) == *$'files_in_cache\t0\n'* ]]; then
  export CCACHE_DEPEND=1
fi

build() {
  cmake --preset "$1"
  cmake --build --preset "$1" -j "$jobs"
  passed "building $1"
}

build release
build asan

failed=0
ctest --preset asan "${selection[@]}" -j "$jobs" || failed=1
passed "tests under the sanitizers"
[[ $failed == 0 ]] || echo "run: tests failed under the sanitizers, see above" >&2
ctest --preset release "${selection[@]}" -j "$jobs" || failed=1
passed tests
exit "$failed"

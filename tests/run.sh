#!/usr/bin/env bash
# Installs what is missing, builds everything and runs all tests: those that need no LibTorch with
# sanitizers too. Closes with ctest's summary; fails if any test failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

jobs=$(nproc)
readonly jobs
# Lets a fresh clone elsewhere reuse what ccache keeps.
export CCACHE_BASEDIR=$PWD

bash cli/setup.sh

build() {
  cmake --preset "$1"
  cmake --build --preset "$1" -j "$jobs"
}

build release
build asan

failed=0
ctest --preset asan -j "$jobs" || failed=1
[[ $failed == 0 ]] || echo "run: tests failed under the sanitizers, see above" >&2
ctest --preset release -j "$jobs" || failed=1
exit "$failed"

#!/usr/bin/env bash
# Builds the Debian packages and the archive into OUT, build/packages if not given. `bash cli/setup.sh` installs what it
# needs.
#
#   build_packages.sh [OUT]
#
#   ULPSCOPE_OTHER_TORCHES  LibTorches to build for beside the one that CMake finds: folders that hold
#                           lib/libtorch_cpu.so, separated by colons
set -euo pipefail
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
out=$(realpath -m "${1:-$root/build/packages}")
readonly root out packaged=$root/build/packaged
cd "$root"
# shellcheck source=lib/cmake/other_torches.sh
source lib/cmake/other_torches.sh
# Paths as other builds have them: ccache has most of it then.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros

builds=$(build_for_other_torches packaged "")
cmake -S . -B "$packaged" -G Ninja -DCMAKE_BUILD_TYPE=Release -DULPSCOPE_UNITY=ON -DULPSCOPE_TESTS=OFF \
  "-DULPSCOPE_OTHER_BUILDS=$builds"
cmake --build "$packaged" --target ulpscope_installed
cpack --config "$packaged/CPackConfig.cmake" -B "$out"

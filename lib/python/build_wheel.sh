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

# For a LibTorch beside the first only what is specific to it is built.
builds=()
IFS=: read -ra torches <<<"${ULPSCOPE_OTHER_TORCHES:-}"
for i in "${!torches[@]}"; do
  build=$root/build/wheel-other-$i
  cmake -S . -B "$build" -G Ninja -DULPSCOPE_TORCH="${torches[i]}" -DULPSCOPE_UNITY=ON -DULPSCOPE_WITH_HDF5=OFF \
    -DULPSCOPE_WITH_CUDA=OFF -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON \
    "-DULPSCOPE_INSTALLED_RUN_PATH=\$ORIGIN/../../../../torch/lib"
  cmake --build "$build" --target ulpscope_capture ulpscope_replay_program
  builds+=("$build")
done

pip wheel --quiet --no-build-isolation --no-deps --no-index --wheel-dir "$work" \
  --config-settings "cmake.define.ULPSCOPE_OTHER_BUILDS=$(IFS=';'; echo "${builds[*]}")" .
# LibTorch, CUDA and MPI are those of the process that opens a library of the wheel.
auditwheel repair --wheel-dir "$out" --exclude 'libtorch*' --exclude 'libc10*' --exclude 'libcud*' \
  --exclude 'libcupti*' --exclude 'libmpi*' "$work"/ulpscope-*.whl

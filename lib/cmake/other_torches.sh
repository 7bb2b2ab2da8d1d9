# shellcheck shell=bash
# Sourced by what packs Ulpscope for several LibTorches.
#
#   ULPSCOPE_OTHER_TORCHES  those beside the one that CMake finds: folders that hold lib/libtorch_cpu.so, separated by
#                           colons

# torch_version FOLDER: "2.15"
torch_version() {
  local header=$1/include/torch/headeronly/version.h
  [[ -e $header ]] || header=$1/include/torch/csrc/api/include/torch/version.h
  sed -nE 's/^#define TORCH_VERSION_(MAJOR|MINOR) ([0-9]+)$/\2/p' "$header" | paste -sd.
}

# build_for_other_torches NAME RUN_PATH: what is specific to each of them, in build/NAME-VERSION. Prints these folders,
# separated by semicolons.
build_for_other_torches() {
  local name=$1 run_path=$2 torches torch build
  local made=()
  IFS=: read -ra torches <<<"${ULPSCOPE_OTHER_TORCHES:-}"
  for torch in "${torches[@]}"; do
    build=$PWD/build/$name-$(torch_version "$torch")
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DULPSCOPE_TORCH="$torch" -DULPSCOPE_UNITY=ON \
      -DULPSCOPE_TESTS=OFF -DULPSCOPE_WITH_HDF5=OFF -DULPSCOPE_WITH_CUDA=OFF -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON \
      "-DULPSCOPE_INSTALLED_RUN_PATH=$run_path" >&2 || return
    cmake --build "$build" --target ulpscope_capture ulpscope_replay_program >&2 || return
    made+=("$build")
  done
  (IFS=';' && echo "${made[*]}")
}

#!/usr/bin/env bash
# Shows Ulpscope on a real training: builds what that needs, records runs of a residual network that
# learns handwritten digits, and compares them. Leaves the dumps in build/demo.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly bin=build/release/bin
readonly dumps=build/demo
readonly train=("$bin/digits_resnet" --steps 3)

say() { printf '\n== %s\n\n' "$*"; }

show() {
  printf '$ %s\n' "$*"
  "$@"
}

record() {
  local dump=$1
  shift
  show "$bin/ulpscope" record -o "$dumps/$dump" --level full -- "$@"
}

# That two runs differ (1) is what the demo is about; only trouble (2) ends it.
compare() {
  local code=0
  show "$bin/ulpscope" compare "$dumps/$1" "$dumps/$2" || code=$?
  [[ $code -le 1 ]] || exit "$code"
}

bash cli/setup.sh
say "Building"
cmake --preset release
# Kernels for GPUs, and what only other programs link, take as long as half of the rest.
targets=(ulpscope ulpscope_capture ulpscope_replay_program digits_resnet)
[[ ! -e /dev/nvidia0 ]] || targets+=(ulpscope_installed)
cmake --build --preset release --target "${targets[@]}"

rm -rf "$dumps"
mkdir -p "$dumps"

say "The same training with one thread and with two"
record one-thread "${train[@]}" --threads 1
record two-threads "${train[@]}" --threads 2
compare one-thread two-threads

say "The same training, with one random number more before step 1"
record extra-draw "${train[@]}" --threads 1 --extra-draw 1
compare one-thread extra-draw

say "On your own LibTorch program, unchanged:"
cat <<END
  $bin/ulpscope record -o first -- ./your_program its arguments
  $bin/ulpscope record -o second -- ./your_program its other arguments
  $bin/ulpscope compare first second
END

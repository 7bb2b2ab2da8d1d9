#!/usr/bin/env bash
# Installs Ulpscope into an empty folder, moves that, and builds and runs a project against it.
#
#   consumer_test.sh BUILD_FOLDER [CMAKE_OPTIONS...]
set -euo pipefail

readonly build=$1
source=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
readonly source
shift

# Always the same folder, or ccache would know nothing of what is compiled there.
work=$(realpath "$build")/tests/consumer_test
readonly work
rm -rf "$work"
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT
# Files must be found by their location.
unset ULPSCOPE_BINARY ULPSCOPE_CAPTURE_LIBRARY ULPSCOPE_PRELOAD

fail() {
  printf 'consumer: %s\n' "$*" >&2
  exit 1
}

# expect CODE TEXT COMMAND...: the exit code, and a line of what is printed.
expect() {
  local wanted=$1 text=$2 code=0 output
  shift 2
  output=$("$@" 2>&1) || code=$?
  [[ $code == "$wanted" ]] || fail "$* returned $code, not $wanted: $output"
  [[ $output == *"$text"* ]] || fail "$* printed no '$text': $output"
}

cmake --install "$build" --prefix "$work/installed" >/dev/null
mv "$work/installed" "$work/prefix"
# Comparing needs no xtensor.
cmake -S "$source" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" \
  --no-warn-unused-cli -DCMAKE_DISABLE_FIND_PACKAGE_xtensor=ON "$@" >"$work/log" || fail "configuring: $(<"$work/log")"
cmake --build "$work/build" >"$work/log" || fail "building: $(<"$work/log")"

# The program and the CMake lines of cli/docs/values.md, as they stand there.
readonly values=$source/../values page=$source/../../cli/docs/values.md
mkdir "$work/page"
/usr/bin/python3 "$values/page.py" "$page" cpp 0 >"$work/page/your_program.cpp"
{
  printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(page LANGUAGES C CXX)' \
    'set(CMAKE_CXX_STANDARD 20)' 'add_executable(your_program your_program.cpp)'
  /usr/bin/python3 "$values/page.py" "$page" cmake 0
} >"$work/page/CMakeLists.txt"
readonly configure=(cmake -S "$work/page" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix")
expect 1 'ulpscope::arrays needs xtensor' "${configure[@]}" -B "$work/none" -DCMAKE_DISABLE_FIND_PACKAGE_xtensor=ON "$@"
expect 0 '' "${configure[@]}" -B "$work/values" "$@"
expect 0 '' cmake --build "$work/values"

cd "$work"
expect 0 '' "$build/bin/write_values_dumps" "$work"
expect 0 '{ 0.      ,  0.000977,  0.      }' values/your_program
expect 2 'usage' prefix/bin/ulpscope compare
expect 2 'not' build/compare_dumps nowhere nothing
[[ -x build/train ]] || exit 0

expect 0 '' build/train a
expect 0 '' build/train b
expect 0 '' build/train_capture_last c
expect 0 '' build/train wider-eps 1e-3
expect 0 'identical' build/compare_dumps a b
expect 0 'identical' build/compare_dumps a c
expect 1 'arguments: aten::layer_norm in norm of model' build/compare_dumps a wider-eps
expect 1 'eps: 1e-05 and 0.001' build/compare_dumps a wider-eps

expect 0 'recorded d:' prefix/bin/ulpscope record -o d --level full -- build/train ignored
expect 0 'identical' build/compare_dumps a d

# A LibTorch that no installed library matches.
capture=$(find prefix -name 'libulpscope_capture-*.so')
mv "$capture" "${capture%/*}/libulpscope_capture-9.9.so"
expect 3 'ran unrecorded: no capture library' prefix/bin/ulpscope record -o e -- build/train ignored
expect 3 'there is 9.9' build/train f

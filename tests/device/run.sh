#!/usr/bin/env bash
# Everything that needs a GPU, in one call: builds what records (no HDF5, no network), checks every
# kernel against its CPU twin, lets compute-sanitizer look for errors and races, and measures. Prints
# a short table last. Without a GPU it says so and ends with 77; if anything is wrong it ends with 1.
#
#   tests/device/run.sh [--build-only]
#
#   OUT              where logs.tar.gz goes, if set; the logs themselves are in build/device/logs
#   ULPSCOPE_TORCH   the folder that holds lib/libtorch_cpu.so, for the capture library; python3's
#                    torch if not set, no capture library if "none"
#   ULPSCOPE_PACK    what tests/device/pack.sh made elsewhere: an `ulpscope` with its libraries and the
#                    program that executes ops, put beside what is built here, or all that is needed,
#                    which is only run; build/pack if not set
#   ULPSCOPE_GROUPS  groups of recorded.py: only these are run
#   ULPSCOPE_SECONDS how long all of it may take, 480 if not set
#   ULPSCOPE_INCLUDE a folder with xxhash.h, where the system has none
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly build=build/device
readonly out=$build/logs
readonly pack=${ULPSCOPE_PACK:-build/pack}
mkdir -p "$out"
failures=()
# Machines that only build do other work too.
[[ ${1:-} == --build-only ]] && patience=10 || patience=1
readonly patience
# Seconds for all of it: a call on a device ends after ten minutes.
readonly most=$((${ULPSCOPE_SECONDS:-480} * patience))

say() { printf 'device: %s\n' "$*"; }

# Runs a command with a limit in seconds and keeps its output as a log.
stage() {
  start "$@"
  finish_started
}

# The same at once with other stages, until finish_started.
declare -A started=()
start() {
  local name=$1 limit=$(($2 * patience)) left=$((most - SECONDS))
  shift 2
  ((limit > left)) && limit=$left
  if ((left <= 0)); then
    echo "not run, the time for all is over" >"$out/$name.log"
    started[$name]=none
    return
  fi
  (
    timeout "$limit" "$@" >"$out/$name.log" 2>&1
    status=$?
    [[ $status == 124 ]] && echo "still running after $limit s" >>"$out/$name.log"
    echo "$SECONDS" >"$out/$name.ended"
    exit "$status"
  ) &
  started[$name]=$!
  began[$name]=$SECONDS
}
declare -A began=()

# 0 if all stages that were started passed.
finish_started() {
  local name status=0 each
  for name in "${!started[@]}"; do
    each=1
    if [[ ${started[$name]} != none ]]; then
      wait "${started[$name]}"
      each=$?
    fi
    if [[ $each == 0 ]]; then
      say "$name: done in $(($(<"$out/$name.ended") - began[$name])) s"
    else
      say "$name: FAILED ($each); the end of $out/$name.log:"
      tail -n 25 "$out/$name.log"
      failures+=("$name")
      status=1
    fi
  done
  started=()
  return $status
}

finish() {
  [[ -n ${OUT:-} ]] && tar -czf "$OUT/logs.tar.gz" -C "$build" logs
  if [[ ${#failures[@]} == 0 ]]; then
    say "everything passed"
    exit 0
  fi
  say "FAILED: ${failures[*]}"
  exit 1
}

has_gpu() {
  [[ $(nvidia-smi -L 2>/dev/null) == GPU* ]]
}

if [[ ${1:-} != --build-only ]] && ! has_gpu; then
  say "skipped: there is no GPU here"
  exit 77
fi

# Where xxhash.h is: the system's, the folder given, or the one that pyarrow's wheel brings.
xxhash_folder() {
  if echo '#include <xxhash.h>' | g++ -E -x c++ - >/dev/null 2>&1; then return; fi
  local folder
  for folder in "${ULPSCOPE_INCLUDE:-}" \
    "$(python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/pyarrow/include/arrow/vendored/xxhash"; do
    if [[ -f $folder/xxhash.h ]]; then
      echo "$folder"
      return
    fi
  done
  say "xxhash.h was not found: name its folder as ULPSCOPE_INCLUDE" >&2
  exit 1
}

torch_folder() {
  [[ ${ULPSCOPE_TORCH:-} == none ]] && return
  if [[ -n ${ULPSCOPE_TORCH:-} ]]; then
    echo "$ULPSCOPE_TORCH"
  elif [[ -e build/torch/torch/lib/libtorch_cpu.so ]]; then
    echo "$PWD/build/torch/torch"
  else
    python3 -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])' 2>/dev/null
  fi
}

build_here() {
  local xxhash options targets programs
  xxhash=$(xxhash_folder) || exit 1
  options=(-DCMAKE_BUILD_TYPE=Release -DULPSCOPE_WITH_HDF5=OFF -DULPSCOPE_WITH_MPI=OFF
    -DULPSCOPE_WITH_CUDA=ON)
  [[ -n $xxhash ]] && options+=("-DCMAKE_CXX_FLAGS=-isystem $xxhash")
  if [[ -n $torch ]]; then
    options+=(-DULPSCOPE_WITH_TORCH=ON "-DULPSCOPE_TORCH=$torch")
  else
    options+=(-DULPSCOPE_WITH_TORCH=OFF)
  fi
  command -v ninja >/dev/null && options+=(-G Ninja)
  say "LibTorch: ${torch:-none}; xxhash.h: ${xxhash:-of the system}"

  stage configure 120 cmake -S . -B "$build" "${options[@]}" || finish
  targets=(ulpscope_device_cuda device_check device_bench)
  if ! grep -q '^ULPSCOPE_CUDNN_[A-Z]*:.*NOTFOUND' "$build/CMakeCache.txt"; then
    targets+=(ulpscope_cudnn engines_check)
  fi
  if ! grep -q '^ULPSCOPE_CUPTI_[A-Z]*:.*NOTFOUND' "$build/CMakeCache.txt"; then
    targets+=(ulpscope_cupti)
  fi
  stage build-device 300 cmake --build "$build" -j "$(nproc)" --target "${targets[@]}" || finish
  if [[ -n $torch && ${1:-} != --build-only ]]; then
    programs=(ulpscope_capture ulpscope_preload ulpscope_python ulpscope_program device_train device_ops device_scenarios)
    [[ -e $torch/lib/libtorch_cuda.so ]] && programs+=(device_graph)
    stage build-capture 240 cmake --build "$build" -j "$(nproc)" --target "${programs[@]}"
  fi
}

torch=$(torch_folder)
[[ -x $pack/bin/device_check ]] || build_here "$@"
if [[ -x $pack/bin/ulpscope ]]; then
  cp -r "$pack/." "$build/" && stage ulpscope-version 20 "$build/bin/ulpscope" --version
fi
[[ ${1:-} == --build-only ]] && finish

nvidia-smi >"$out/nvidia-smi.log" 2>&1
seed=$((RANDOM * 32768 + RANDOM))
libraries=$(find "$torch/lib" "$torch"/../nvidia -name lib -type d 2>/dev/null | paste -sd :)
recorded() {
  LD_LIBRARY_PATH=$torch/lib:$libraries start "recorded-$1" 240 \
    python3 tests/device/recorded.py --bin "$build/bin" --reports "$out/reports" "$1"
}

if [[ -n ${ULPSCOPE_GROUPS:-} ]]; then
  for group in $ULPSCOPE_GROUPS; do recorded "$group"; done
  finish_started
  cat "$out"/recorded-*.log
  finish
fi

# What is checked runs at once, what is measured runs alone.
start check 120 "$build/bin/device_check" 3 "$seed"
if python3 -c 'import torch, xxhash; assert torch.cuda.is_available()' 2>/dev/null; then
  start with-torch 60 python3 tests/device/with_torch.py "$build/lib/libulpscope_device.so"
else
  say "with-torch: not run, python3 has no torch that sees the GPU, or no xxhash"
fi
if [[ -x $build/bin/ulpscope && -x $build/bin/device_train ]]; then
  for group in unnoticed phases graphs kernels cpu ops bugs scenarios replay python; do recorded "$group"; done
else
  say "recorded: not run, there is no ulpscope beside what was built (tests/device/pack.sh)"
fi
readonly tutorial=cli/docs/tutorials/cpu-against-gpu.md
if [[ -x $build/bin/ulpscope && -n $torch ]] && PYTHONPATH=$build/python python3 -c 'import markdown_it' 2>/dev/null; then
  PYTHONPATH=$build/python LD_LIBRARY_PATH=$torch/lib:$libraries start tutorial 120 \
    python3 tests/docs/tutorial.py --bin "$build/bin" --torch "$(dirname "$torch")" "$tutorial"
else
  say "tutorial: not followed, there is no ulpscope, no LibTorch or no markdown-it here"
fi
if [[ -x $build/bin/engines_check ]]; then
  LD_LIBRARY_PATH=$libraries start engines 100 "$build/bin/engines_check" "$build/lib/libulpscope_cudnn.so"
else
  say "engines: not run, cuDNN's headers are not here"
fi
[[ -e $build/lib/libulpscope_cupti.so ]] || say "kernels: their names are not recorded, CUPTI's headers are not here"
finish_started
stage bench 90 "$build/bin/device_bench"
if [[ -x $build/bin/ulpscope && -x $build/bin/device_train ]]; then
  recorded cost
  finish_started
fi
if command -v compute-sanitizer >/dev/null; then
  for tool in memcheck racecheck initcheck; do
    start "$tool" 90 compute-sanitizer --tool "$tool" --error-exitcode 1 "$build/bin/device_check" small "$seed"
  done
  finish_started
  for tool in memcheck racecheck initcheck; do
    if grep -q 'Device not supported' "$out/$tool.log"; then
      say "$tool: not run, compute-sanitizer does not support this device"
      for i in "${!failures[@]}"; do [[ ${failures[i]} == "$tool" ]] && unset "failures[i]"; done
    fi
  done
else
  say "compute-sanitizer is not here: memory and races were not looked at"
fi
tail -qn 1 "$out/check.log" "$out/with-torch.log" "$out/engines.log" 2>/dev/null
cat "$out/bench.log" "$out"/recorded-*.log 2>/dev/null
finish

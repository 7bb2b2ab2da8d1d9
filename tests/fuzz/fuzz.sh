#!/usr/bin/env bash
# Searches with each fuzzer in turn, starting from data/fuzz.
#
#   tests/fuzz/fuzz.sh SECONDS [FUZZER...]
#
# What a fuzzer fails on is left in build/fuzz/findings; what it learned stays in build/fuzz/corpus.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly seconds=${1:?how many seconds for each fuzzer?}
shift
fuzzers=("$@")
[[ ${#fuzzers[@]} -gt 0 ]] || mapfile -t fuzzers < <(sed -n 's/^ulpscope_fuzzer(\([a-z0-9_]*\) .*/\1/p' tests/fuzz/CMakeLists.txt)

if ! command -v clang++ >/dev/null; then
  echo "fuzz: needs clang with libFuzzer: apt-get install clang libclang-rt-14-dev" >&2
  exit 1
fi
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz
# Many small temporary files: in memory, if there is such a place.
[[ -z ${TMPDIR:-} && -w /dev/shm ]] && export TMPDIR=/dev/shm
for fuzzer in "${fuzzers[@]}"; do
  mkdir -p "build/fuzz/corpus/$fuzzer" build/fuzz/findings
  echo "fuzz: $fuzzer for $seconds s"
  "build/fuzz/bin/fuzz_$fuzzer" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 \
    -max_len=16384 -print_final_stats=1 -artifact_prefix="build/fuzz/findings/$fuzzer-" \
    "build/fuzz/corpus/$fuzzer" "data/fuzz/$fuzzer" 2>&1 | tail -n 40
done

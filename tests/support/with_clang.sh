#!/usr/bin/env bash
# with_clang.sh [LAUNCHER] -- COMPILER ARGUMENTS...: compiles with Clang instead. As GCC has it, -Wconversion says nothing
# of signs. A precompiled header has the absolute paths of what it includes: the LAUNCHER might take that of another
# folder.
set -euo pipefail

launcher=()
while [[ $1 != -- ]]; do
  launcher+=("$1")
  shift
done
shift 2
if [[ " $* " == *" -x c++-header "* ]]; then
  launcher=()
  # Clang would take what is precompiled already for the header itself, and refuse it if that has changed.
  for ((i = 1; i < $#; i++)); do
    [[ ${!i} != -o ]] || { ((++i)) && rm -f "${!i}"; }
  done
fi
exec "${launcher[@]}" clang++ "$@" -Wno-sign-conversion -fpch-instantiate-templates -Xclang -fno-pch-timestamp

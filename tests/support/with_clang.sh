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
[[ " $* " != *" -x c++-header "* ]] || launcher=()
exec "${launcher[@]}" clang++ "$@" -Wno-sign-conversion -fpch-instantiate-templates -Xclang -fno-pch-timestamp

#!/usr/bin/env bash
# with_clang.sh [LAUNCHER] -- COMPILER ARGUMENTS...: compiles with Clang instead. As GCC has it, -Wconversion says nothing
# of signs. A precompiled header that says when it was made would be another one for ccache each time.
set -euo pipefail

launcher=()
while [[ $1 != -- ]]; do
  launcher+=("$1")
  shift
done
shift 2
exec "${launcher[@]}" clang++ "$@" -Wno-sign-conversion -fpch-instantiate-templates -Xclang -fno-pch-timestamp

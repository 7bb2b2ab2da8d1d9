#!/usr/bin/env bash
# Runs the same comparison with one process of `ulpscope compare`, and with two and four started by mpirun. Printed
# bytes and exit code must be the same; what mpirun itself prints about an exit code other than 0 is left out.
#
#   together_test.sh ULPSCOPE DUMPS CODE ARGUMENTS...
set -uo pipefail

readonly ulpscope=$1 dumps=$2 code=$3
shift 3
work=$(mktemp -d)
readonly work
trap 'rm -rf "$work"' EXIT
source "$(dirname "${BASH_SOURCE[0]}")/mpirun_settings.sh"
cd "$dumps" || exit 1

fail() {
  echo "$*" >&2
  exit 1
}

# What a process said, without what mpirun says: between lines of dashes.
without_mpirun() { sed '/^----------/,/^----------/d' "$1"; }

# compared FORMAT PROCESSES ARGUMENTS...
compared() {
  local format=$1 processes=$2 status
  shift 2
  "$ulpscope" compare "$@" --format "$format" >"$work/alone" 2>"$work/alone.errors"
  status=$?
  [[ $status == "$code" ]] || fail "one process ends with $status, not $code"
  timeout 60 mpirun --oversubscribe -n "$processes" "$ulpscope" compare "$@" --format "$format" \
    >"$work/together" 2>"$work/together.errors"
  status=$?
  [[ $status == "$code" ]] || fail "$processes processes end with $status, not $code"
  cmp "$work/alone" "$work/together" || fail "$processes processes print something else"
  without_mpirun "$work/together.errors" | diff "$work/alone.errors" - ||
    fail "$processes processes say something else on standard error"
}

compared text 2 "$@"
compared json 4 "$@"

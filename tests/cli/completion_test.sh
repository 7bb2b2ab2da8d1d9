#!/bin/bash
# completion_test.sh ULPSCOPE COMPLETION CASE: what bash offers with the cursor at the end.
set -u
ulpscope=$1
# shellcheck source=/dev/null
source "$2"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir -p runs/a runs/b

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  exit 1
}
# The completions of a command line whose last word is being typed, joined by blanks.
completions() {
  COMP_WORDS=("$ulpscope" "$@")
  COMP_CWORD=$#
  _ulpscope
  printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd ' '
}
expect() {
  local expected=$1
  shift
  local got
  got=$(completions "$@")
  [ "$got" = "$expected" ] || fail "'$*' gives '$got', not '$expected'"
}

commands() {
  expect "compare" com
  for command in record compare check bisect live inspect env verify recover explain; do
    completions '' | grep -qw "$command" || fail "$command is not offered"
  done
}

options() {
  expect "--max-ulp" compare --max
  expect "--level" record --le
  # Every option that the help of a command lists is offered, and no other.
  for command in $("$ulpscope" -h | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
    listed=$("$ulpscope" "$command" --help | sed -n '/^options:/,/^examples:/p' | grep -oE -- '^  (-[a-z], )?--[a-z-]+' |
      grep -oE -- '--?[a-z][a-z-]*' | sort -u | paste -sd ' ')
    got=$(completions "$command" - | tr ' ' '\n' | sort -u | paste -sd ' ')
    [ "$got" = "$listed" ] || fail "$command offers '$got', not '$listed'"
  done
}

choices() {
  expect "digest full stats" record --level ''
  expect "full" record --level f
  expect "github json junit markdown sarif text" compare a b --format ''
  expect "" compare a b --max-ulp ''
}

causes() {
  expect "threads" explain threads
  expect "rng-device rng-seed rng-shift rng-size" explain rng-
}

dumps() {
  expect "runs/a runs/b" compare runs/
  expect "runs" record -o r
}

"$3"

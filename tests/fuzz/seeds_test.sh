#!/usr/bin/env bash
# The fuzzers' seeds are what make_seeds makes now: seeds of an older format are rejected at once, and a fuzzer that
# begins with them finds nothing.
#
#   seeds_test.sh MAKE_SEEDS KEPT_SEEDS
set -uo pipefail

work=$(mktemp -d)
readonly work
trap 'rm -rf "$work"' EXIT
"$1" "$work" || exit 1
cd "$work" || exit 1
for seed in */*; do
  cmp "$seed" "$2/$seed" || { echo "not current: make_seeds data/fuzz"; exit 1; }
done

#!/bin/bash
# every_op_test.sh BIN REPLAYER PROGRAM: 95 % of the distinct ops of a step give the bits that were recorded.
set -eu
bin=$1 replayer=$2 program=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$bin/ulpscope" record -o "$work/dump" --level full --steps 0 -- "$bin/$program" --steps 1
"$bin/prove_ops" "$replayer" "$work/dump" 0.95

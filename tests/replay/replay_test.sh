#!/bin/bash
# replay_test.sh BIN LIBRARY CASE: what `ulpscope replay` makes of recorded programs. LIBRARY has the ops that few_ops
# calls and LibTorch does not have.
set -u
bin=$1 library=$2
export NO_COLOR=1 ULPSCOPE_WIDTH=200
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  for file in stdout stderr; do [ -f $file ] && sed "s/^/$file: /" $file >&2; done
  exit 1
}
record() { "$bin/ulpscope" record -o "$1" --level "$2" -- "$bin/few_ops" "$3" >/dev/null 2>stderr || fail "not recorded"; }
# The position of the first event of an op in the setup of a dump.
event_of() { "$bin/ulpscope" inspect "$1" setup | awk -v op="$2" '$3 == op { print $1; exit }' | tr -d ,; }
# replays CODE ARGS...: runs `ulpscope replay` and keeps what it prints.
replays() {
  local code=$1
  shift
  "$bin/ulpscope" replay "$@" >stdout 2>stderr
  local got=$?
  [ $got -eq "$code" ] || fail "replay $*: exit code $got, not $code"
}
says() { grep -qF -- "$1" stdout || fail "it does not print '$1'"; }
complains() { grep -qF -- "$1" stderr || fail "it does not complain '$1'"; }
silent() { [ ! -s stdout ] || fail "it prints an answer"; }

threads() {
  record one full 1
  record two full 2
  local sum
  sum=$(event_of one aten::sum)
  replays 1 one "setup/$sum" --with two
  says "EXPLAINED: B's bits come out with 2 threads, A's with 1 thread"
  says "inputs     equal in both runs"
  replays 1 two "event:$sum" --with one
  says "EXPLAINED: B's bits come out with 1 thread, A's with 2 threads"
  replays 1 one "setup/$sum" --with two --format json
  says '"factor": "threads"'
  says '"mechanism": "B'\''s bits come out with 2 threads, A'\''s with 1 thread"'
  replays 0 one "setup/$sum"
  says "PROVED: the op gives its recorded bits; they change with 2 threads"
  replays 0 one "setup/$sum" --with one
  says "EQUAL: the op gave equal bits in both runs"
}

inputs() {
  record one full 1
  local first last
  first=$(event_of one aten::sum)
  last=$("$bin/ulpscope" inspect one setup | awk '$3 == "aten::sum" { at = $1 } END { print at }' | tr -d ,)
  replays 1 one "setup/$first" --with one --with-event "setup/$last"
  says "EXPLAINED: the runs called the op with different self"
  says "inputs     differ: self (dtype or shape)"
}

draws() {
  record one full 1
  local first last
  first=$(event_of one aten::normal_)
  last=$("$bin/ulpscope" inspect one setup | awk '$3 == "aten::normal_" { at = $1 } END { print at }' | tr -d ,)
  [ "$first" != "$last" ] || fail "it draws once only"
  replays 0 one "setup/$first"
  says "PROVED: the op gives its recorded bits"
  says "in float64 it draws other numbers"
  replays 1 one "setup/$first" --with one --with-event "setup/$last"
  says "the generator's state"
}

precisions() {
  record one full 1
  replays 0 one "setup/$(event_of one aten::linear)"
  says "autocast to float16"
  replays 0 one "setup/$(event_of one aten::mm)"
  says "PROVED: the op gives its recorded bits"
}

libraries() {
  record one full 1
  replays 2 one "setup/$(event_of one program::increment)"
  says "NOT PROVED: the op does not give its recorded bits: LibTorch has no such op"
  says "--load"
  replays 0 one "setup/$(event_of one program::increment)" --load "$library"
  says "PROVED"
  replays 2 one "setup/$(event_of one program::increment)" --load nowhere.so
  complains "there is no library 'nowhere.so'"
  echo nonsense >nonsense.so
  replays 2 one "setup/$(event_of one program::increment)" --load nonsense.so
  says "a library cannot be loaded: "
}

repeats() {
  record one full 1
  replays 0 one "setup/$(event_of one program::drift)" --load "$library" --repeats 3
  says "3 repeats gave 3 results: the op itself is not deterministic"
  says "1 of 3"
  FRAGILE_OP_ENDS=1 replays 2 one "setup/$(event_of one program::fragile)" --load "$library"
  says "NOT PROVED: the op does not give its recorded bits: the op ended the program that executed it"
}

# Builds what --export has written, and expects that it shows the difference.
exported() {
  record one full 1
  record two full 2
  local sum
  sum=$(event_of one aten::sum)
  replays 1 one "setup/$sum" --with two --export program
  replays 2 one "setup/$sum" --with two --export program
  complains "there is something in 'program'"
  [ "$(ls program | paste -sd ' ')" = "CMakeLists.txt inputs.h5 reproduce.cpp" ] || fail "wrong files: $(ls program)"
  "${CMAKE:-cmake}" -S program -B built -DCMAKE_PREFIX_PATH="$LIBTORCH" \
    -DCMAKE_DISABLE_FIND_PACKAGE_CUDA=ON >stdout 2>stderr || fail "it cannot be configured"
  "${CMAKE:-cmake}" --build built >stdout 2>stderr || fail "it cannot be built"
  built/reproduce >stdout 2>stderr || fail "it does not run"
  grep -q '^as A was recorded *digest [0-9a-f]*, 1 result in 5$' stdout || fail "the base is missing"
  grep -q '^with 2 threads *digest [0-9a-f]*, 1 result in 5, 1 elements differ by up to [1-9][0-9]* ULP$' stdout ||
    fail "the difference is missing"
}

reasons() {
  record one full 1
  record bare digest 1
  replays 2 bare "setup/$(event_of bare aten::sum)"
  complains "'bare' has no bytes of this op, it was recorded at level digest"
  complains "help: record it with --level full"
  silent
  replays 2 one setup/99999
  complains "'one' has no event setup/99999"
  silent
  replays 2 one setup
  complains "'setup' names no event"
  replays 2 one "event:3:1"
  complains "'one' has no event event:3:1"
  local outcome
  outcome=$("$bin/ulpscope" inspect one setup | awk '/end of run/ { print $1; exit }' | tr -d ,)
  replays 2 one "setup/$outcome"
  complains "is no op: end of run"
  replays 2 one "setup/$(event_of one aten::sum)" --with one --with-event "setup/$(event_of one aten::sin)"
  complains "the events are different ops, aten::sum and aten::sin"
  replays 2 one "setup/$(event_of one aten::sum)" --with-event setup/1
  complains "--with-event needs --with"
  replays 2 one "setup/$(event_of one aten::sum)" --repeats 0
  complains "--repeats takes 1 to 10000, not '0'"
}

"$3"

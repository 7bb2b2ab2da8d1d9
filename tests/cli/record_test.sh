#!/bin/bash
# record_test.sh ULPSCOPE RECORDED_PROGRAM CASE: what `ulpscope record` must not change about the command it runs.
set -u
ulpscope=$1
# Not preloaded: where these tests are built with a sanitizer, so is the program.
program=(env -u LD_PRELOAD "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  [ -f stderr ] && sed 's/^/stderr: /' stderr >&2
  exit 1
}
expect_code() { [ "$1" -eq "$2" ] || fail "exit code $1, not $2"; }
expect_text() { [ "$1" = "$2" ] || fail "'$1' is not '$2'"; }
# Waits until the command that follows succeeds, for half a minute at most.
wait_until() {
  local give_up=$((SECONDS + 30))
  until "$@"; do
    [ $SECONDS -lt $give_up ] || fail "still not: $*"$'\n'"$(ps -ef --forest)"
    sleep 0.01
  done
}
has_ended() { ! kill -0 "$1" 2>/dev/null || grep -q '^State:.*Z' "/proc/$1/status"; }
record() { "$ulpscope" record -o dump "$@" 2>stderr; }

exit_codes() {
  record -- true; expect_code $? 0
  record --force -- sh -c 'exit 3'; expect_code $? 3
  record --force -- sh -c 'kill -9 $$'; expect_code $? 137
  record --force -- sh -c 'kill -TERM $$'; expect_code $? 143
}

cannot_run() {
  record -- ./nowhere; expect_code $? 127
  grep -q "error: './nowhere' cannot be run: No such file" stderr || fail "no reason"
  [ ! -e dump ] || fail "a command that never ran left a dump"
  mkdir directory
  record -- ./directory; expect_code $? 126
  touch plain
  record -- ./plain; expect_code $? 126
}

streams() {
  expect_text "$(printf 'in' | record -- sh -c 'cat; echo " out"; echo err >&2; pwd')" \
    "in out
$work"
  grep -qx err stderr || fail "standard error did not pass"
}

shells_and_wrappers() {
  expect_text "$(record -- bash -c 'echo $((1 + 1))')" 2
  expect_text "$(record --force -- env A=1 sh -c 'echo $A')" 1
  if command -v python3 >/dev/null; then
    expect_text "$(record --force -- python3 -c 'print(1)')" 1
  fi
}

one_note() {
  record -- sh -c 'true; true | true'; expect_code $? 0
  expect_text "$(wc -l <stderr)" 1
  grep -q '^ulpscope: note: the command ran unrecorded: ' stderr || fail "no note"
  grep -q '"recorded": false' dump/status.json || fail "status.json says it was recorded"
}

arguments_pass() {
  expect_text "$(record -- printf '<%s>' 'a b' -- --level '')" '<a b><--><--level><>'
  expect_text "$(record --force printf '<%s>' --force)" '<--force>'
}

existing_dump() {
  record -- true; expect_code $? 0
  record -- touch started; expect_code $? 125
  [ ! -e started ] || fail "the command ran although the dump exists"
  record --force -- true; expect_code $? 0
  mkdir papers && touch papers/thesis
  "$ulpscope" record --force -o papers -- true 2>stderr; expect_code $? 125
  [ -e papers/thesis ] || fail "--force removed what is no dump"
}

default_names() {
  "$ulpscope" record -- true 2>stderr; expect_code $? 0
  "$ulpscope" record -- true 2>stderr; expect_code $? 0
  expect_text "$(echo runs/*)" "runs/true-1 runs/true-2"
}

variables() {
  ULPSCOPE_DUMP=elsewhere "$ulpscope" record -- true 2>stderr; expect_code $? 0
  [ -e elsewhere/status.json ] || fail "ULPSCOPE_DUMP was not heard"
  ULPSCOPE_DUMP=elsewhere "$ulpscope" record -o flag -- true 2>stderr
  [ -e flag/status.json ] || fail "the flag does not win"
  ULPSCOPE_LEVEL=most record -- true; expect_code $? 125
  grep -q "ULPSCOPE_LEVEL cannot be 'most'" stderr || fail "the variable is not named"
}

static_program() {
  echo 'int main(void) { return 5; }' >program.c
  cc -static program.c -o static || { echo "no static C library"; exit 77; }
  record -- ./static; expect_code $? 5
  grep -q "note: the command ran unrecorded: './static' cannot be entered: it is statically linked" \
    stderr || fail "no reason"
  record --force --require -- ./static; expect_code $? 125
}

missing_library() {
  echo 'int f(void) { return 0; }' | cc -shared -fPIC -x c - -o libtorch_cpu.so
  echo 'int f(void); int main(void) { return f(); }' | cc -x c - -o program -L. -ltorch_cpu
  record -- ./program; expect_code $? 127
  grep -qx "ulpscope: note: the command ran unrecorded: './program' did not start, the loader does not find\
 libtorch_cpu.so; LD_LIBRARY_PATH can name the folder" stderr || fail "the library is not named"
  LD_LIBRARY_PATH=. record --force -- ./program; expect_code $? 0
  grep -q 'does not find' stderr && fail "what is found is called missing"
  record --force -- sh -c 'exit 127'; expect_code $? 127
  ! grep -q 'does not find' stderr || fail "another end is called a missing library"
}

no_proc() {
  unshare -rm mount -t tmpfs tmpfs /proc 2>/dev/null || { echo "may not mount"; exit 77; }
  unshare -rm bash -c "mount -t tmpfs tmpfs /proc && '$ulpscope' record -o dump -- true" 2>stderr; expect_code $? 125
  grep -q 'there is no /proc, which recording needs' stderr || fail "no reason"
}

privileged_program() {
  cp "$(type -P true)" privileged
  chown 1:1 privileged 2>/dev/null || { echo "needs root"; exit 77; }
  chmod 4755 privileged
  record --require -- ./privileged; expect_code $? 125
  grep -q 'rights of a different user' stderr || fail "no reason"
}

sanitized_program() {
  echo 'int main(void) { return 6; }' >program.c
  cc -fsanitize=address program.c -o sanitized && ./sanitized
  [ $? -eq 6 ] || { echo "no address sanitizer"; exit 77; }
  record -- ./sanitized; expect_code $? 6
  grep -q 'it is built with a sanitizer' stderr || fail "no reason"
  record --force --require -- ./sanitized; expect_code $? 125
}

damaged_program() {
  for size in 4 63 64 200 1000; do
    head -c $size "$(type -P true)" >cut && chmod +x cut
    record --force -- ./cut
    [ $? -ge 126 ] || fail "a program of $size bytes ran"
  done
}

signals_reach_the_command() {
  cat >child.sh <<'CHILD'
trap 'echo TERM >got; exit 7' TERM
trap 'echo USR1 >usr1' USR1
echo $$ >ready
while :; do sleep 0.01; done
CHILD
  "$ulpscope" record -o dump -- bash child.sh 2>stderr &
  recorder=$!
  wait_until test -s ready
  kill -USR1 $recorder
  wait_until test -s usr1
  kill -TERM $recorder
  wait $recorder; expect_code $? 7
  expect_text "$(cat got)" TERM
}

interrupt_leaves_the_recorder() {
  # A separate process group, as a terminal's foreground job: both get the interrupt.
  cat >child.sh <<'CHILD'
trap 'sleep 0.1; exit 9' INT
echo >ready
read -r <>never
CHILD
  mkfifo never
  set -m
  "$ulpscope" record -o dump -- env --default-signal=INT bash child.sh 2>stderr &
  recorder=$!
  set +m
  wait_until test -s ready
  kill -INT -- -$recorder
  wait_until has_ended $recorder
  wait $recorder; expect_code $? 9
  grep -q '"exit_code": 9' dump/status.json || fail "the recorder did not publish"
}

ignored_signals_stay_ignored() {
  # As under nohup: what was ignored before stays ignored in the command.
  (trap '' HUP; "$ulpscope" record -o dump -- sh -c 'kill -HUP $$; echo alive') >stdout 2>stderr
  expect_text "$(cat stdout)" alive
}

daemons_are_awaited() {
  record -- bash -c 'setsid bash -c "sleep 0.3; echo done >daemon" >/dev/null 2>&1 & exit 4'
  expect_code $? 4
  [ -s daemon ] || fail "the recorder ended before what the command left behind"
}

waiting_can_be_ended() {
  "$ulpscope" record -o dump -- bash -c 'setsid sleep 60 >/dev/null 2>&1 & echo $! >daemon' 2>stderr &
  recorder=$!
  wait_until grep -q 'waiting for the processes it left behind' stderr
  kill -TERM $recorder
  wait $recorder; expect_code $? 0
  kill "$(cat daemon)"
}

nested() {
  record -- "$ulpscope" record -o inner -- sh -c 'exit 3'; expect_code $? 3
  [ -e inner/status.json ] || fail "no inner dump"
}

closed_streams() {
  "$ulpscope" record -o dump -- sh -c 'echo >&1 || exit 2' <&- >&- 2>&-; expect_code $? 2
  "$ulpscope" record --force -o dump -- "${program[@]}" 1000 <&- >&- 2>&-; expect_code $? 0
  "$ulpscope" verify dump >/dev/null || fail "messages went into the dump"
}

no_descriptors_are_left_in_the_command() {
  ls /proc/self/fd >bare
  record -- ls /proc/self/fd >recorded
  expect_text "$(tr '\n' ' ' <recorded)" "$(tr '\n' ' ' <bare)"
}

recorded() {
  expect_text "$(record -- "${program[@]}" 1000)" "recorded to its end"
  grep -q '^ulpscope: recorded dump: 1,000 events, 1,000 values, .*, 123 MB verified' stderr ||
    fail "the closing line does not tell"
  grep -q '"complete": true' dump/status.json || fail "not complete"
  "$ulpscope" inspect dump | grep -q '1,000 events' || fail "the events are not in the dump"
  "$ulpscope" verify dump >/dev/null || fail "the dump is damaged"
}

recorded_killed() {
  record -- "${program[@]}" 1000 --kill; expect_code $? 137
  grep -q 'recorded dump: 1,000 events.*incomplete: .*SIGKILL' stderr || fail "no reason"
  "$ulpscope" inspect dump | grep -q '1,000 events' || fail "what was committed is lost"
}

recorded_daemon() {
  record -- "${program[@]}" 1000 --daemon; expect_code $? 0
  grep -q 'recorded dump: 1,000 events' stderr || fail "the daemon was not recorded"
}

recorded_ranks() {
  record -- bash -c "for rank in 2 0 1; do RANK=\$rank ${program[*]} 10 & done; wait; ${program[*]} 10"
  expect_code $? 0
  grep -q '4 ranks' stderr || fail "not four ranks"
  expect_text "$(echo dump/rank*)" "dump/rank0000 dump/rank0001 dump/rank0002 dump/rank0003"
}

recorded_garbage() {
  record -- "${program[@]}" 10 --garbage; expect_code $? 0
  grep -q 'incomplete: rank 0: ' stderr || fail "no reason"
  grep -q '"complete": false' dump/status.json || fail "status.json does not tell"
}

settings_arrive() {
  expect_text "$(record --level full --capture layers --verify off --steps 3-19 --stacks --modules 'a.*' \
    --modules b --ignore 'aten::t' -- "${program[@]}" 1 --settings | head -1)" \
    "level 2, capture 1, verify 1, steps 3-19, stacks 1, kernels 0, modules a.*|b, ops , ignore aten::t"
  expect_text "$(ULPSCOPE_LEVEL=stats ULPSCOPE_OPS='aten::mm,aten::add*' ULPSCOPE_STEPS=5- \
    record --force -- "${program[@]}" 1 --settings | head -1)" \
    "level 1, capture 0, verify 0, steps 5-18446744073709551615, stacks 0, kernels 0, modules , ops aten::mm|aten::add*, ignore "
  expect_text "$(record --force --steps setup --kernels -- "${program[@]}" 1 --settings | head -1)" \
    "level 0, capture 0, verify 0, steps 1-0, stacks 0, kernels 1, modules , ops , ignore "
}

contradictions() {
  refused() {
    local sentence=$1
    shift
    record "$@" -- touch started; expect_code $? 125
    grep -qF "ulpscope: error: $sentence" stderr || fail "not '$sentence'"
    grep -q '^help: ' stderr || fail "no help"
    [ ! -e started ] || fail "the command ran"
    [ ! -e dump ] || fail "a dump was made"
  }
  refused "--capture layers records no ops" --capture layers --ops 'aten::mm'
  refused "--capture layers records no ops" --capture layers --kernels
  refused "--max-bytes bounds the bytes of values" --max-bytes 1G
  refused "--steps takes steps, not 'all'" --steps all
  refused "--steps 9-3 ends before it begins" --steps 9-3
  refused "--steps takes steps, not '-3'" --steps=-3
  refused "--ops takes a glob, not ''" --ops ''
  refused "the globs of --modules are longer than 511 bytes" --modules "$(printf 'a%.0s' {1..600})"
  refused "--max-bytes takes a size, not 'much'" --level full --max-bytes much
  refused "--max-bytes must be more than 0" --level full --max-bytes 0
  refused "--segment-bytes must be more than 0" --segment-bytes 0
  grep -q "^help: without it a segment is published" stderr || fail "no hint about segments"
  refused "--ring-bytes is between 64K and 1G" --ring-bytes 1K
  refused "--segment-steps takes a whole number from 1 on" --segment-steps 0
}

redacted() {
  record --redact '*TOKEN*' --redact 'sk-*' -- "${program[@]}" 10; expect_code $? 0
  "$ulpscope" inspect dump settings >settings
  grep -q 'env.API_TOKEN *<redacted>' settings || fail "the setting is not masked"
  grep -q 'env.OMP_NUM_THREADS *2' settings || fail "another setting is masked"
  record --force --redact 'sk-*' -- sh -c "${program[*]} 10" sh --key=sk-1 sk-2 >stdout
  grep -q -- '"--key=<redacted>"' dump/status.json || fail "a value of the command line is not masked"
  grep -rlE 'sk-(secret|1|2)' dump && fail "what is masked is in the dump"
  record --redact 'sk-*' --force -- "${program[@]}" 10 --kill; expect_code $? 137
  grep -rlE 'sk-secret' dump && fail "what is masked is in the dump of a killed run"
  true
}

bytes_are_bounded() {
  record --level full -- "${program[@]}" 2000 --bytes; expect_code $? 0
  "$ulpscope" verify dump | grep -q '2,000 values with bytes' || fail "not all bytes are there"
  mv dump whole
  record --level full --max-bytes 20K -- "${program[@]}" 2000 --bytes; expect_code $? 0
  grep -q 'the bytes of values end in setup, where the dump had reached 20 kB (--max-bytes)' stderr ||
    fail "the closing line does not tell"
  grep -q '"complete": true' dump/status.json || fail "digests did not go on"
  grep -q 'rank 0: the bytes of values end' dump/status.json || fail "status.json does not tell"
  "$ulpscope" verify dump >verified; expect_code $? 0
  grep -q '2,000 events' verified || fail "events are missing"
  grep -q '2,000 values with bytes' verified && fail "all bytes are there"
  "$ulpscope" compare whole dump >report; expect_code $? 0
  grep -q 'the candidate: rank 0: the bytes of values end' report || fail "compare does not tell"
}

notices_are_told() {
  record -- "${program[@]}" 10 --notice; expect_code $? 0
  [[ $(grep -o 'rank 0: kernels have no names' stderr | wc -l) == 1 ]] || fail "not told once"
  grep -q '"complete": true' dump/status.json || fail "the recording counts as incomplete"
}

full_disk() {
  # A limit on the size of files replaces a full disk; the program writes no files.
  out=$(ulimit -f 400; record --ring-bytes 64K -- "${program[@]}" 100000); expect_code $? 0
  expect_text "$out" "went on without recording"
  grep -q 'incomplete: rank 0: ' stderr || fail "no reason"
}

full_file_system() {
  # Large enough to begin, too small to close the segment.
  mkdir small
  unshare -rm mount -t tmpfs tmpfs small 2>/dev/null || { echo "may not mount"; exit 77; }
  expect_text "$(unshare -rm bash -c "mount -t tmpfs -o size=300k tmpfs small &&
    '$ulpscope' record -o small/dump -- ${program[*]} 1000 2>stderr; echo \$?")" "recorded to its end
0"
  grep -q 'incomplete: rank 0: ' stderr || fail "no reason"
}

"$3"

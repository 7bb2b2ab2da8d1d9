#!/bin/bash
# bad_input_table.sh ULPSCOPE RECORDED_PROGRAM DUMPS [CASE]: what bad input is answered with, as a table:
# input | exit code | what was printed. Fails where a row is not as expected; 77 where CASE cannot be
# tried here.
set -u
ulpscope=$(realpath "$1")
# Not preloaded: where these tests are built with a sanitizer, so is the program.
program=(env -u LD_PRELOAD "$(realpath "$2")")
dumps=$(realpath "$3")
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
unset ULPSCOPE_LEVEL ULPSCOPE_CAPTURE
export NO_COLOR=1 ULPSCOPE_WIDTH=200
failed=0

# Runs a command in the case's own directory: its exit code and a sentence that it prints are given, and `help` if a
# hint must follow.
expect() {
  local input=$1 code=$2 sentence=$3 help=$4
  shift 4
  local printed got
  printed=$("$@" 2>&1)
  got=$?
  local line
  line=$(grep -F -m1 -- "$sentence" <<<"$printed")
  local ok=yes
  [ "$got" -eq "$code" ] || ok="exit code $got, not $code"
  [ -n "$line" ] || ok="not '$sentence'"
  if [ "$help" = help ]; then grep -q '^help: ' <<<"$printed" || ok="no help"; fi
  if [ "$ok" != yes ]; then
    failed=1
    line="FAILED ($ok): $printed"
  fi
  printf '| %s | %s | %s |\n' "$input" "$got" "${line//"$work"/.}"
  if [ "$help" = help ]; then printf '| | | %s |\n' "$(grep -m1 '^help: ' <<<"$printed")"; fi
}
skip() {
  printf '| %s | | cannot be tried here: %s |\n' "$1" "$2"
  skipped=1
}
compare() { expect "$1" 2 "$2" help "$ulpscope" compare "${3:-bad}" same; }
recorded() { "$ulpscope" record "$@" 2>/dev/null >&2; }
wait_until() { until "$@"; do sleep 0.01; done; }
# Overwrites bytes of a file.
patch_file() { printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }
segment() { echo "$1/rank0000/segment-000000.h5"; }

# --- a dump to read

missing_directory() {
  compare "no such directory" "'nowhere' does not exist" nowhere
  compare "a typo in a dump's name" "'refernce' does not exist" refernce
}
empty_directory() { mkdir bad && compare "an empty directory" "'bad' is not a dump"; }
other_things() {
  mkdir -p bad/sub && touch bad/thesis.txt
  compare "a directory of other things" "'bad' is not a dump"
  compare "the directory around dumps" "'.' is not a dump" .
}
a_file() {
  touch bad
  compare "a file" "'bad' is neither a dump nor a file of tensors"
  compare "a segment of a dump" "is a file, and a dump is a directory" "$(segment reference)"
  compare "a rank of a dump" "is a part of a dump" reference/rank0000
}
other_hdf5() {
  cp "$(segment reference)" bad
  compare "an HDF5 file" "'same' is a dump, and 'bad' holds tensors: they cannot be compared"
  rm bad
  cp -r reference bad
  head -c 20000 /dev/urandom >"$(segment bad)"
  compare "a segment that is something else" "is not a segment of a dump"
}
truncated_segment() {
  cp -r reference bad
  truncate -s -1000 "$(segment bad)"
  compare "a truncated segment" "is damaged: its size is not the one it was published with"
  : >"$(segment bad)"
  compare "an empty segment" "is damaged: it is too short"
}
flipped_bit() {
  cp -r damaged bad
  compare "a flipped bit in a segment" "is damaged: its metadata do not have the digest"
  expect "the same, verify" 1 "DAMAGED: 1 problem" "" "$ulpscope" verify bad
}
newer_format() {
  cp -r reference bad
  patch_file "$(segment bad)" 8 '\x63\0\0\0'
  compare "a segment of a newer format" "was written in format 99; this ulpscope reads up to format"
}
missing_segment() {
  cp -r reference bad
  rm "$(segment bad)"
  compare "a missing segment" "'bad' has lost all that was recorded: Rank 0 has no segments"
  expect "the same, verify" 1 "Rank 0 has no segments" "" "$ulpscope" verify bad
}
renamed_segment() {
  cp -r reference bad
  mv "$(segment bad)" bad/rank0000/segment-000001.h5
  compare "a renamed segment" "The file of segment 1 of rank 0 holds segment 0"
  expect "the same, verify" 1 "The file of segment 1 of rank 0 holds segment 0" "" "$ulpscope" verify bad
}
other_segment() {
  cp -r ranks bad
  cp "$(segment rate)" "$(segment bad)"
  compare "another run's segment" "Segment 0 of rank 0 is from a different run"
  expect "the same, verify" 1 "Segment 0 of rank 0 is from a different run" "" "$ulpscope" verify bad
}
other_status() {
  cp -r reference bad
  cp rate/status.json bad
  compare "another run's status.json" "status.json is from a different run than the segments"
  expect "the same, verify" 1 "status.json is from a different run than the segments" "" "$ulpscope" verify bad
}
nothing_recorded() {
  recorded -o bad -- true
  compare "a dump of a command that was not recorded" "'bad' is empty, nothing was recorded: "
  expect "the same, verify" 2 "EMPTY: nothing was recorded: " "" "$ulpscope" verify bad
}
still_recorded() {
  "$ulpscope" record -o bad -- bash -c "${program[*]} 10; touch ready; read -r _ <end" 2>/dev/null >&2 &
  mkfifo end
  wait_until test -e ready
  expect "a dump that is being recorded, verify" 2 "'bad' is being recorded" help "$ulpscope" verify bad
  expect "the same, recover" 2 "'bad' is being recorded" help "$ulpscope" recover bad
  expect "the same, record --force" 125 "'bad' is being recorded" help "$ulpscope" record --force -o bad -- true
  expect "the same, compare" 2 "incomplete: the recording has not ended" "" "$ulpscope" compare bad same
  echo >end
  wait
}
crashed_program() {
  recorded -o whole -- "${program[@]}" 1000
  recorded -o bad -- "${program[@]}" 1000 --kill
  expect "a dump whose program crashed" 2 "was ended by signal 9 (SIGKILL)" "" "$ulpscope" compare whole bad
  expect "the same, the verdict" 2 "INCONCLUSIVE: all that both have is equal" "" "$ulpscope" compare whole bad
}
other_program() {
  expect "dumps of two programs" 1 "note: the runs are of two programs, train and evaluate" "" \
    "$ulpscope" compare rate other_program
}
not_whole() {
  expect "verify of a selection" 2 "'reference@steps=0' is a part of a dump" help "$ulpscope" verify reference@steps=0
  expect "recover of no dump" 2 "'empty' is not a dump" help "$ulpscope" recover empty
  expect "verify of no dump" 2 "'empty' is not a dump" help "$ulpscope" verify empty
}

# --- selectors and options

selectors() {
  compare "a selector with a typo" "'stops=1' does not select anything" reference@stops=1
  compare "a rank that is not there" "'reference' has no rank 5" reference@rank=5
  compare "steps that are not there" "'reference@steps=50-60' selects nothing" reference@steps=50-60
  compare "steps that end before they begin" "'steps=3-1' does not select anything" reference@steps=3-1
}
wrong_numbers() {
  wrong() { expect "$1" 2 "$2" help "$ulpscope" compare reference same "${@:3}"; }
  wrong "a word for a number" "--max-ulp takes a whole number, not 'three'" --max-ulp three
  wrong "a number that is too large" "--max-ulp is out of range" --max-ulp 99999999999999999999
  wrong "a negative tolerance" "--rtol takes a number that is not negative" --rtol -1
  wrong "NaN for a tolerance" "--atol takes a number that is not negative" --atol nan
  wrong "an option without its value" "--max-ulp needs a value" --max-ulp
  wrong "a flag with a value" "--ascii" --ascii=maybe
  wrong "a typo in an option" "compare has no option '--max-upl'" --max-upl 3
  wrong "a typo in a choice" "--format cannot be 'jsom'" --format jsom
  wrong "a third dump that is not there" "'third' does not exist" third
  wrong "-o without a format" "--output takes FORMAT=FILE" -o report.json
}
# A tolerance file with these lines, and the message about it.
tolerance() {
  printf '%b' "$2" >tolerance.toml
  expect "$1" 2 "$3" help "$ulpscope" compare reference same --tolerance tolerance.toml
}
tolerance_files() {
  local rule='[[rule]]\n'
  tolerance "a tolerance file with an unknown key" "${rule}max_ulps = 4\n" "tolerance.toml:2: there is no key 'max_ulps'"
  tolerance "one with an unknown table" '[[rules]]\nmax_ulp = 4\n' "tolerance.toml:1: there is no key 'rules'"
  tolerance "one with text for a number" "${rule}rtol = \"small\"\n" "tolerance.toml:2: rtol takes a number that is not negative"
  tolerance "one with a negative number" "${rule}atol = -1e-6\n" "tolerance.toml:2: atol takes a number that is not negative"
  tolerance "one with a fraction of a ULP" "${rule}max_ulp = 0.5\n" "tolerance.toml:2: max_ulp takes a whole number"
  tolerance "one with a date in quotes" "${rule}atol = 1\nexpires = \"2027-01-31\"\n" "tolerance.toml:3: expires takes a date without quotes"
  tolerance "one with a day that no month has" "${rule}atol = 1\nexpires = 2027-02-30\n" "tolerance.toml:3: this is not TOML"
  tolerance "one with a rule that allows nothing" "${rule}op = \"aten::mm\"\n" "tolerance.toml:1: this rule allows nothing"
  tolerance "one without rules" '# later\n' "'tolerance.toml' has no rules"
  tolerance "one that is no TOML" "${rule}op = aten::mm\n" "tolerance.toml:2: this is not TOML"
  tolerance "one with bytes of another kind" '\xff\xfe\0\n' "tolerance.toml:1: this is not TOML"
  expect "a tolerance file that is not there" 2 "'nowhere.toml' cannot be read: No such file" help \
    "$ulpscope" compare reference same --tolerance nowhere.toml
  expect "a directory for a tolerance file" 2 "cannot be read: it is not a file" help \
    "$ulpscope" compare reference same --tolerance reference
}
unwritable_report() {
  expect "a report file in no directory" 2 "'missing/r.json' could not be written: No such file" help \
    "$ulpscope" compare reference same -o json=missing/r.json
  expect "a page in no directory" 2 "'missing/r.html' could not be written: No such file" help \
    "$ulpscope" compare reference same -o html=missing/r.html
  expect "a report file on a full disk" 2 "could not be written: No space left" help \
    "$ulpscope" compare reference same -o json=/dev/full
  printf before >report.json
  expect "a report that the disk has no room for" 2 "'report.json' could not be written: File too large" help \
    bash -c 'trap "" XFSZ; ulimit -f 1; "$0" compare reference same -o json=report.json' "$ulpscope"
  [ "$(cat report.json)" = before ] || { failed=1; echo "FAILED: the report that was there is damaged"; }
  mkdir folder && touch folder/there && ln -s folder/there link
  expect "a report in place of a directory" 2 "could not be written: Is a directory" help \
    "$ulpscope" compare reference same -o json=folder
  expect "a report through a link" 0 "IDENTICAL" "" "$ulpscope" compare reference same -o json=link
  [ -L link ] && [ -s folder/there ] || { failed=1; echo "FAILED: the link is not what it was"; }
  [ -z "$(find . -name '*.partial')" ] || { failed=1; echo "FAILED: a part of a report was left"; }
  expect "standard output on a full disk" 2 "could not be written to standard output" help \
    bash -c '"$0" compare reference same >/dev/full' "$ulpscope"
}
wrong_command() {
  expect "no command" 2 "no command was given" help "$ulpscope"
  expect "a typo in the command" 2 "there is no command 'comprae'" help "$ulpscope" comprae a b
  expect "a cause that does not exist" 2 "there is no cause 'thraeds'" help "$ulpscope" explain thraeds
}

# --- record: where the dump goes

existing_output() {
  expect "a dump that exists" 125 "'reference' holds a dump already" help "$ulpscope" record -o reference -- true
  mkdir bad && touch bad/thesis.txt
  expect "other files, --force" 125 "'bad' holds files that belong to no dump" help "$ulpscope" record --force -o bad -- true
  touch same/thesis.txt
  expect "a dump and other files, --force" 125 "'same' holds files that belong to no dump" help \
    "$ulpscope" record --force -o same -- true
  touch rate/rank0000/thesis.txt
  expect "other files in a rank, --force" 125 "'rate' holds files that belong to no dump" help \
    "$ulpscope" record --force -o rate -- true
  mkdir mine && echo '{}' >mine/status.json
  expect "a status.json of something else, --force" 125 "'mine' holds files that belong to no dump" help \
    "$ulpscope" record --force -o mine -- true
  [ -e bad/thesis.txt ] && [ -e same/thesis.txt ] && [ -e rate/rank0000/thesis.txt ] && [ -e mine/status.json ] ||
    { failed=1; echo "FAILED: --force removed what is no dump"; }
}
unwritable_target() {
  expect "a target that cannot be made" 125 "the dump '/proc/nowhere' could not be made" help \
    "$ulpscope" record -o /proc/nowhere -- true
  touch bad
  expect "a target below a file" 125 "the dump 'bad/dump' could not be made: Not a directory" help \
    "$ulpscope" record -o bad/dump -- true
}
full_disk() {
  # A limit on the size of files replaces a full disk; the program writes no files.
  expect "the disk fills up while recording" 0 "incomplete: rank 0: " "" \
    bash -c 'ulimit -f 400; "$0" record -o bad --ring-bytes 64K -- "$@" 100000' "$ulpscope" "${program[@]}"
  expect "the same, the program" 0 "went on without recording" "" \
    bash -c 'ulimit -f 400; "$0" record --force -o bad --ring-bytes 64K -- "$@" 100000' "$ulpscope" "${program[@]}"
}

# --- record: the program

no_program() {
  expect "a program that is not there" 127 "'./nowhere' cannot be run: No such file" help "$ulpscope" record -o d -- ./nowhere
  expect "a name that is not in PATH" 127 "'nowhere' cannot be run: No such file" help "$ulpscope" record -o d -- nowhere
  touch train
  expect "a file that is not executable" 126 "'./train' cannot be run: Permission denied" help \
    "$ulpscope" record -o d -- ./train
  chmod +x train
  expect "a program here without ./" 127 "'train' cannot be run" help "$ulpscope" record -o d -- train
  printf '#!/nowhere/sh\n' >train
  expect "an interpreter that is not there" 127 "'./train' cannot be run" help "$ulpscope" record -o d -- ./train
  expect "a directory for a program" 126 "'/' cannot be run: Permission denied" help "$ulpscope" record -o d -- /
  expect "no command to record" 125 "record needs a command to run" help "$ulpscope" record -o d
  [ ! -e d ] || { failed=1; echo "FAILED: a dump was left"; }
}
without_torch() {
  expect "a program without LibTorch" 0 "ran unrecorded: no process of it computed anything with LibTorch" "" "$ulpscope" record -o d -- true
}
other_torch() {
  echo 'unsigned long aoti_torch_abi_version(void) { return 99ul << 56 | 1ul << 48; }' >torch.c
  echo 'unsigned long aoti_torch_abi_version(void); int main(void) { return aoti_torch_abi_version() == 0; }' >main.c
  cc -shared -fPIC torch.c -o libtorch_cpu.so -Wl,-soname,libtorch_cpu.so &&
    cc main.c -o train -L. -ltorch_cpu -Wl,-rpath,"$PWD" || { skip "another LibTorch" "no C compiler"; return; }
  mkdir capture && touch capture/libulpscope_capture-2.11.so
  expect "a program of another LibTorch" 0 "ran unrecorded: no capture library fits its LibTorch" "" \
    env ULPSCOPE_CAPTURE_LIBRARY=capture "$ulpscope" record -o d -- ./train
}
static_program() {
  echo 'int main(void) { return 0; }' >main.c
  cc -static main.c -o train || { skip "a static program" "no static C library"; return; }
  expect "a static program" 0 "'./train' cannot be entered: it is statically linked" "" "$ulpscope" record -o d -- ./train
  expect "the same, --require" 125 "'./train' cannot be entered: it is statically linked" help \
    "$ulpscope" record --require -o e -- ./train
}
privileged_program() {
  cp "$(type -P true)" train
  chown 1:1 train 2>/dev/null && chmod 4755 train || { skip "a set-user-id program" "needs root"; return; }
  expect "a set-user-id program, --require" 125 "it runs with the rights of a different user" help \
    "$ulpscope" record --require -o d -- ./train
}
sanitized_program() {
  echo 'int main(void) { return 0; }' >main.c
  cc -fsanitize=address main.c -o train 2>/dev/null && ./train || { skip "a sanitizer build" "no sanitizer"; return; }
  expect "a sanitizer build" 0 "it is built with a sanitizer" "" "$ulpscope" record -o d -- ./train
  expect "the same, --require" 125 "it is built with a sanitizer" help "$ulpscope" record --require -o e -- ./train
}
contradictions() {
  wrong() { expect "$1" 125 "$2" help "$ulpscope" record -o d "${@:3}" -- true; }
  wrong "--capture layers with --ops" "--capture layers records no ops" --capture layers --ops 'aten::mm'
  wrong "--max-bytes without --level full" "--max-bytes bounds the bytes of values" --max-bytes 1G
  wrong "steps that are none" "--steps takes steps, not 'all'" --steps all
  wrong "steps that end before they begin" "--steps 9-3 ends before it begins" --steps 9-3
  wrong "globs that are too long" "the globs of --modules are longer" --modules "$(printf 'a%.0s' {1..600})"
  wrong "an empty glob" "--ops takes a glob" --ops ''
  wrong "a size that is none" "--max-bytes takes a size" --level full --max-bytes much
  wrong "a ring that is too small" "--ring-bytes is between 64K and 1G" --ring-bytes 1K
  wrong "segments of no steps" "--segment-steps takes a whole number from 1 on" --segment-steps 0
  wrong "keeping no step" "--keep-last takes a whole number from 1 on" --keep-last none
  wrong "a level that does not exist" "--level cannot be 'ful'" --level ful
}

cases=(missing_directory empty_directory other_things a_file other_hdf5 truncated_segment flipped_bit newer_format
  missing_segment renamed_segment other_segment other_status nothing_recorded
  still_recorded crashed_program other_program not_whole
  selectors wrong_numbers tolerance_files unwritable_report wrong_command
  existing_output unwritable_target full_disk
  no_program without_torch other_torch static_program privileged_program sanitized_program contradictions)

printf '| input | exit code | printed |\n|---|---|---|\n'
for case in "${@:4}" $([ $# -gt 3 ] || echo "${cases[@]}"); do
  skipped=0
  mkdir "$work/$case" && cp -r "$dumps/." "$work/$case" && cd "$work/$case" || exit 1
  "$case"
  [ $# -le 3 ] || [ $skipped = 0 ] || exit 77
done
exit $failed

#!/usr/bin/env bash
# What becomes of `ulpscope` among the processes of mpirun when not all is well, and of mpirun under `record`.
#
#   mpi_test.sh ULPSCOPE RECORDED_PROGRAM DUMPS CASE
set -uo pipefail

readonly ulpscope=$1 dumps=$3
readonly program=(env -u LD_PRELOAD "$2")
work=$(mktemp -d)
readonly work
trap 'rm -rf "$work"' EXIT
source "$(dirname "${BASH_SOURCE[0]}")/mpirun_settings.sh"
cd "$work" || exit 1

fail() {
  echo "FAILED: $*" >&2
  sed 's/^/said: /' said >&2
  exit 1
}
said_once() { [[ $(grep -cF "$1" said) == 1 ]] || fail "not once: $1"; }
# together PROCESSES COMMAND...
together() { timeout 50 mpirun --oversubscribe -n "$@" >printed 2>said; }

processes_of_mpirun_are_ranks() {
  "$ulpscope" record -o dump -- mpirun --oversubscribe -n 3 "${program[@]}" 10 >printed 2>said ||
    fail "ended with $?"
  [[ $(cd dump && echo rank*) == "rank0000 rank0001 rank0002" ]] || fail "the dump has $(ls dump)"
  grep -q '"complete": true' dump/status.json || fail "it is not complete"
}

# The one that comes first continues until the other one has been rejected.
one_dump_is_not_recorded_twice() {
  mkfifo end
  cat >member <<'END'
"$@"
code=$?
echo $code >>codes
[[ $code == 125 ]] && echo >end
END
  together 2 bash member "$ulpscope" record -o dump -- bash -c "${program[*]} 10; read -r _ <end"
  [[ $(sort codes | xargs) == "0 125" ]] || fail "they ended with $(xargs <codes)"
  said_once "ulpscope: error: 'dump' is being recorded"
  grep -q 'record -o DUMP -- mpirun' said || fail "it does not say how it is meant"
  "$ulpscope" verify dump >verified 2>&1 || fail "the other one's dump is damaged: $(cat verified)"
}

a_missing_library_is_told_once() {
  mkdir bin
  cp "$ulpscope" bin
  together 2 bin/ulpscope compare "$dumps/ranks" "$dumps/ranks"
  [[ $? == 2 ]] || fail "ended with another code than 2"
  [[ ! -s printed ]] || fail "there is a report"
  said_once "cannot work together: libulpscope_mpi.so is not installed"
  said_once "help: start one process, or install the MPI that ulpscope was built with"
}

# The others must not wait for it: timeout would end them with 124. It is killed once the first one has
# got as far as to answer SIGTERM, which mpirun sends; SIGKILL follows, by default after a second.
a_killed_member_ends_all() {
  cat >member <<'END'
if [[ $OMPI_COMM_WORLD_RANK != 1 ]]; then
  [[ $OMPI_COMM_WORLD_RANK == 0 ]] && echo $$ >first.new && mv first.new first
  exec "$@"
fi
"$@" &
kill -STOP $!
until [[ -s first ]]; do sleep 0.01; done
read -r first <first
answers_sigterm() { (((0x$(sed -n 's/^SigCgt:\t//p' "/proc/$first/status") >> 14) & 1)); }
until answers_sigterm; do sleep 0.01; done
kill -KILL $! $$
END
  OMPI_MCA_odls_base_sigkill_timeout=5 together 3 bash member "$ulpscope" compare "$dumps/ranks" "$dumps/ranks_apart"
  [[ $? == 137 ]] || fail "mpirun ended with another code than 137"
  [[ ! -s printed ]] || fail "there is a report"
  said_once "ulpscope: error: mpirun has ended the comparison"
  grep -q '^help: what mpirun says' said || fail "it does not say what to do"
}

"$4"

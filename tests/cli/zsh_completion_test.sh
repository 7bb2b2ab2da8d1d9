#!/bin/bash
# zsh_completion_test.sh ULPSCOPE COMPLETION: how zsh completes words and a TAB, typed at a pseudo terminal. Waits for
# the expected output; ctest ends a test that waits forever.
command -v zsh >/dev/null || { echo "no zsh"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/functions" "$work/bin" && cp "$2" "$work/functions/_ulpscope"
ln -s "$1" "$work/bin/ulpscope"
cat >"$work/typist.zsh" <<'ZSH'
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "fpath=($1/functions \$fpath); autoload -Uz compinit; compinit -u -d $1/dump; path=($1/bin \$path)"
zpty -w shell "setopt interactive_comments; stty columns 200; print rea''dy"
zpty -r shell shown '*ready*'
expect() {
  zpty -w -n shell "$1"$'\t'
  zpty -r shell shown "*$2*"
  print -r -- "$1 becomes $2"
  zpty -w -n shell $'\C-a#\C-m'
}
expect "ulpscope comp" "ulpscope compare"
expect "ulpscope record --level st" "--level stats"
expect "ulpscope record --capt" "--capture"
expect "ulpscope explain harml" "harmless-rewrite"
ZSH
zsh -f "$work/typist.zsh" "$work"

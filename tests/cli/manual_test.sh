#!/bin/bash
# manual_test.sh ULPSCOPE: the manual page is valid roff and has every option of every command.
set -u
command -v groff >/dev/null || { echo "no groff"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" --roff >"$work/ulpscope.1" || exit 1
groff -ww -b -man -Tascii -P-cbou "$work/ulpscope.1" >"$work/page" 2>"$work/warnings" || exit 1
[ ! -s "$work/warnings" ] || { cat "$work/warnings"; exit 1; }
for command in $("$1" -h | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
  for option in $("$1" "$command" --help | grep -oE -- '^  (-[a-z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
    [ "$option" = --help ] || grep -qE -- "$option( |$)" "$work/page" ||
      { echo "$command $option is not in the manual"; exit 1; }
  done
done

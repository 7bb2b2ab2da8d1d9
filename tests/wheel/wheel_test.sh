#!/usr/bin/env bash
# Builds the wheel, installs it into a new environment that has PyTorch, and uses it there.
#
#   wheel_test.sh SOURCE PYTHON PACKAGES      PACKAGES: the folder in which PYTHON finds PyTorch
set -euo pipefail

readonly source=$1 python=$2 packages=$3
readonly here=$source/tests/wheel
work=$(mktemp -d)
readonly work
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
  printf 'wheel: %s\n' "$*" >&2
  exit 1
}

# Runs a command with nothing but the environment on PATH.
inside() {
  env -i HOME="$work" PATH="$work/venv/bin:/usr/bin:/bin" "$@"
}

# expect CODE TEXT COMMAND...: the exit code, and a part of what is printed.
expect() {
  local wanted=$1 text=$2 code=0 output
  shift 2
  output=$(inside "$@" 2>&1) || code=$?
  [[ $code == "$wanted" ]] || fail "$* returned $code, not $wanted: $output"
  [[ $output == *"$text"* ]] || fail "$* printed no '$text': $output"
}

# needs_only FILE PATTERN: the libraries that it asks the loader for.
needs_only() {
  cmake -DBINARY="$1" -DONLY="$2" -P "$source/tests/checks/needed_libraries.cmake" >log 2>&1 || fail "$(<log)"
}

ULPSCOPE_TORCH=$packages/torch bash "$source/lib/python/build_wheel.sh" "$work" >log 2>&1 ||
  fail "building: $(tail -n 40 log)"
wheels=(ulpscope-*-py3-none-manylinux_*.whl)
[[ ${#wheels[@]} == 1 && -e ${wheels[0]} ]] || fail "there is no wheel: $(ls)"

"$python" -m venv venv
site=$(inside python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
# Instead of `pip install torch`.
for package in "$packages"/*; do
  [[ -e $site/${package##*/} ]] || ln -s "$package" "$site"
done
inside pip install --quiet --no-index "${wheels[0]}"

native=$site/ulpscope/_native
expect 0 "$native/lib/ulpscope/libulpscope_capture-" ulpscope --version
expect 0 'usage: ulpscope' python -m ulpscope --help
expect 0 "$site/ulpscope/__init__.py" python -c 'import ulpscope; print(ulpscope.__file__)'
[[ $(cd "$native/share" && find . -type f | sort | xargs) == \
  "./ulpscope/bisect.schema.json ./ulpscope/check.schema.json ./ulpscope/env.schema.json ./ulpscope/inspect.schema.json ./ulpscope/recover.schema.json ./ulpscope/replay.schema.json ./ulpscope/report.schema.json ./ulpscope/verify.schema.json" ]] ||
  fail "the schemas, or more than these, are in $native/share: $(find "$native/share")"
[[ -e $site/ulpscope/py.typed ]] || fail "the package has no types"

expect 0 "$native/lib/ulpscope/libulpscope_preload.so" ulpscope record -o a --level full -- python "$here/train.py" 0.1
expect 0 "$native/lib/ulpscope/libulpscope_capture-" ulpscope record -o b --level full -- python "$here/train.py" 0.1
expect 0 IDENTICAL ulpscope compare a b
expect 0 '' ulpscope record -o c -- python "$here/train.py" 0.2
expect 1 DIVERGED ulpscope compare a c
expect 0 True python -c 'import ulpscope; print(bool(ulpscope.compare("a", "b")))'
# A process records itself.
expect 0 '' python -c 'import ulpscope, torch
with ulpscope.record("d"): torch.ones(3).sum()'
expect 0 aten::sum ulpscope inspect d setup
# It finds the LibTorch of the environment.
linear=$(inside ulpscope inspect a 0 | awk '$3 == "aten::linear" && !n++ {print $1}')
expect 0 'gives its recorded bits' ulpscope replay a "0/$linear"

# What the command needs beyond the C++ runtime is in the wheel, and nothing else is.
outside=$(inside ldd "$native/bin/ulpscope" | grep -v "=> $site/" | awk '{print $1}' | xargs -n 1 basename)
unexpected=$(grep -Ev '^(linux-vdso|ld-linux-x86-64|lib(stdc\+\+|gcc_s|c|m|z|resolv))\.so' <<<"$outside") || true
[[ -z $unexpected ]] || fail "not in the wheel, but needed by the command: $unexpected"
needs_only "$native/lib/ulpscope/libulpscope_preload.so" '^libc\.so'
for library in "$native"/lib/ulpscope/libulpscope_capture-*.so; do
  needs_only "$library" '^(lib(torch_cpu|c10|stdc\+\+|gcc_s|m|c)|ld-linux-x86-64)\.so'
done

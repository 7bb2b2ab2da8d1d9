#!/usr/bin/env bash
# Makes the packages of a build and unpacks them: what must be in them is, and works from there.
#
#   package_test.sh BUILD LIBDIR [CMAKE_OPTIONS...]      LIBDIR: the libraries' folder below the prefix
set -euo pipefail

readonly build=$1 lib=$2
here=$(realpath "${BASH_SOURCE[0]%/*}")
readonly here
shift 2
work=$(mktemp -d)
readonly work
trap 'rm -rf "$work"' EXIT
cd "$work"
# Files must be found by their location.
unset ULPSCOPE_BINARY ULPSCOPE_CAPTURE_LIBRARY ULPSCOPE_PRELOAD LD_LIBRARY_PATH

fail() {
  printf 'package: %s\n' "$*" >&2
  exit 1
}

# expect CODE TEXT COMMAND...: the exit code, and a part of what is printed.
expect() {
  local wanted=$1 text=$2 code=0 output
  shift 2
  output=$("$@" 2>&1) || code=$?
  [[ $code == "$wanted" ]] || fail "$* returned $code, not $wanted: $output"
  [[ $output == *"$text"* ]] || fail "$* printed no '$text': $output"
}

# contains FOLDER FILES...
contains() {
  local folder=$1 file
  shift
  for file in "$@"; do
    [[ -e $folder/$file ]] || fail "$folder has no $file"
  done
}

# Nothing in a folder looks for libraries where they were on the machine that built it.
has_no_run_path() {
  local file
  while read -r file; do
    ! readelf -d "$file" 2>/dev/null | grep -E 'R(UN)?PATH' || fail "$file has a run path"
  done < <(find "$1" -type f \( -name '*.so*' -o -perm -u=x \))
}

# With gzip, which takes a quarter of the time of what packages have.
cpack --config "$build/CPackConfig.cmake" -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip -B packages >log 2>&1 || fail "cpack: $(tail -n 20 log)"
readonly runtime=(packages/ulpscope_*.deb) dev=(packages/ulpscope-dev_*.deb) archive=(packages/ulpscope-*.tar.gz)

dpkg-deb -x "${runtime[0]}" runtime
dpkg-deb -x "${dev[0]}" dev
contains runtime/usr bin/ulpscope "$lib/libulpscope.so.0" "$lib/ulpscope/libulpscope_preload.so" \
  "$lib/ulpscope/python/__init__.py" share/bash-completion/completions/ulpscope share/man/man1/ulpscope.1.gz \
  share/zsh/vendor-completions/_ulpscope share/ulpscope/report.schema.json \
  share/ulpscope/check.schema.json share/ulpscope/replay.schema.json share/ulpscope/bisect.schema.json \
  share/ulpscope/inspect.schema.json share/ulpscope/env.schema.json share/ulpscope/verify.schema.json \
  share/ulpscope/recover.schema.json share/doc/ulpscope/copyright
contains dev/usr include/ulpscope/compare.hpp "$lib/libulpscope_compare.a" "$lib/pkgconfig/ulpscope.pc" \
  "$lib/cmake/ulpscope/ulpscopeConfig.cmake" share/doc/ulpscope-dev/copyright
# What other builds have for their LibTorches is in the package of one that names them.
IFS=';' read -ra others < <(sed -n 's/^ULPSCOPE_OTHER_BUILDS:STRING=//p' "$build/CMakeCache.txt")
for other in "${others[@]}"; do
  for file in "$other"/lib/libulpscope_capture-*.so "$other"/lib/ulpscope-replay-*; do
    contains runtime/usr "$lib/ulpscope/${file##*/}"
  done
done
grep -q 'Mike Bostock' runtime/usr/share/doc/ulpscope/copyright || fail "the copyright file does not name D3's authors"
has_no_run_path runtime

suggests=$(dpkg-deb --field "${runtime[0]}" Suggests)
[[ $suggests == *librsvg2-bin* ]] || fail "rsvg-convert, for -o png=, is not suggested: $suggests"
depends=$(dpkg-deb --field "${runtime[0]}" Depends)
[[ $depends == *libhdf5* ]] || fail "HDF5 is not among the dependencies: $depends"
[[ ! $depends =~ torch|cuda|cudnn|cupti|mpi ]] || fail "a library that need not be there is a dependency: $depends"
if command -v lintian >/dev/null; then
  lintian --no-cfg --allow-root --fail-on error "${runtime[0]}" "${dev[0]}" >log 2>&1 || fail "lintian: $(<log)"
fi

# Both packages in one prefix.
mkdir prefix
cp -a runtime/. dev/. prefix
readonly ulpscope=$work/prefix/usr/bin/ulpscope
expect 0 "HDF5" "$ulpscope" --version
/usr/bin/python3 -c 'import numpy; a = numpy.ones(3); numpy.save("a", a); a[1] += 1; numpy.save("b", a)'
expect 0 IDENTICAL "$ulpscope" compare a.npy a.npy
expect 1 DIVERGED "$ulpscope" compare a.npy b.npy
read -ra flags < <(PKG_CONFIG_PATH=prefix/usr/$lib/pkgconfig pkg-config --cflags --libs ulpscope)
c++ -std=c++20 -x c++ - "${flags[@]}" -o noted <<<'#include <ulpscope/ulpscope.hpp>
int main() { ulpscope::note("key", "value"); }' || fail "pkg-config: ${flags[*]}"
expect 0 '' env LD_LIBRARY_PATH="prefix/usr/$lib" ./noted
cmake -S "$here/../consumer" -B consumer -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix/usr" "$@" >log 2>&1 ||
  fail "configuring: $(<log)"
grep -q "ulpscope_DIR:PATH=$work/prefix/usr" consumer/CMakeCache.txt || fail "a different installation was found"
cmake --build consumer >log 2>&1 || fail "building: $(<log)"
expect 2 nowhere consumer/compare_dumps nowhere nothing

# The archive, wherever it is unpacked.
mkdir moved
tar xzf "${archive[0]}" -C moved --strip-components 1
readonly moved=$work/moved
contains "$moved" bin/ulpscope include/ulpscope/compare.hpp share/doc/ulpscope/Apache-2.0.txt
has_no_run_path "$moved"
expect 1 DIVERGED "$moved/bin/ulpscope" compare a.npy b.npy

# Recording and replaying, where the build has LibTorch.
[[ -x $build/bin/few_ops ]] || exit 0
expect 0 "recorded dump:" "$ulpscope" record -o dump --level full -- "$build/bin/few_ops" 1
expect 0 "recorded other:" "$moved/bin/ulpscope" record -o other --level full -- "$build/bin/few_ops" 1
expect 0 IDENTICAL "$ulpscope" compare dump other
sum=$("$ulpscope" inspect dump setup | awk '$3 == "aten::sum" && !n++ {print $1}')
expect 2 "LD_LIBRARY_PATH can name the folder" "$ulpscope" replay dump "setup/$sum"

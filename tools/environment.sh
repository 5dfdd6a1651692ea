#!/usr/bin/env bash
# Makes (or brings up to date) a virtual environment with the project in it.
# Usage: environment.sh FOLDER [EXTRAS]     as in: environment.sh .venv    environment.sh .venv dev,audio
# Versions are those of constraints/, which were tested together.
set -euo pipefail
here="$(cd "$(dirname "$0")/.." && pwd)"
folder="$1"
extras="${2:+[$2]}"

python="${GROVE_PYTHON:-}"
if [ -z "$python" ]; then
    for candidate in python3.11 python3.10 python3; do
        "$candidate" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] < (3, 13))' 2>/dev/null && { python="$candidate"; break; }
    done
fi
[ -n "$python" ] || { echo "Python 3.10, 3.11 or 3.12 is needed." >&2; exit 1; }

[ -x "$folder/bin/python" ] || "$python" -m venv "$folder"
version="$("$folder/bin/python" -c 'import sys; print("py%d%d" % sys.version_info[:2])')"
constraints="$here/constraints/$version.txt"
[ -f "$constraints" ] || constraints="$here/constraints/py311.txt"
stamp="$folder/.grove-edge"
mark="$(cat "$here/pyproject.toml" "$constraints" "$0" | sha256sum | cut -c1-16) $extras $here"
[ "$(cat "$stamp" 2>/dev/null)" = "$mark" ] && exit 0
"$folder/bin/python" -m pip install --quiet --upgrade pip
"$folder/bin/python" -m pip install --quiet --constraint "$constraints" --editable "$here$extras"
echo "$mark" >"$stamp"

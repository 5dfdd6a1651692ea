#!/usr/bin/env bash
# The first command of the README: installs what the main job needs and runs it on the sample film.
# Usage: demo.sh [FOLDER]     FOLDER keeps the memory and the alert's sound (default: demo/)
set -euo pipefail
here="$(cd "$(dirname "$0")/.." && pwd)"
cd "$here"
venv="${GROVE_VENV:-.venv}"
out="${1:-demo}"

echo "1/3  System packages and a virtual environment"
bash tools/system_packages.sh run
[ -x "$venv/bin/grove-edge" ] || echo "     (about a gigabyte of packages, once)"
bash tools/environment.sh "$venv"
grove="$venv/bin/grove-edge"

mkdir -p "$out"
db="$out/memory.db"
echo "2/3  Ten minutes of a made-up morning, seen and heard on this machine"
"$grove" run --source tools/sample/day.mp4 --db "$db" --speaker "$out/alerts.wav"

echo "3/3  What it remembers"
"$grove" timeline --db "$db"
for question in "Where did I put my keys?" "When is the meeting?" "What did the note on the fridge say?"; do
    echo "? $question"
    "$grove" ask "$question" --db "$db"
done
echo
echo "The memory is in $db, its pictures beside it; what was spoken is in $out/alerts.wav."
echo "Try: $grove ask 'When did I last see a cat?' --db $db"

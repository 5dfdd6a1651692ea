#!/usr/bin/env bash
# The second command of the README: installs what the tests need and runs them.
# Usage: test.sh [PYTEST ARGUMENTS]
set -euo pipefail
here="$(cd "$(dirname "$0")/.." && pwd)"
cd "$here"
venv="${GROVE_VENV:-.venv}"
bash tools/system_packages.sh test
bash tools/environment.sh "$venv" dev,audio
bash tools/llama.sh "$venv"
# A virtual speaker and a virtual microphone, for this run only.
eval "$(bash tools/audio_sinks.sh start)"
trap 'bash tools/audio_sinks.sh stop >/dev/null' EXIT
"$venv/bin/python" -m pytest -m "not slow" "$@"

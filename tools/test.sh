#!/usr/bin/env bash
# The second command of the README: installs what the tests need and runs them.
# Usage: test.sh [PYTEST ARGUMENTS]     as in: test.sh tests/storage    test.sh -m slow tests/edge/voice
# Without arguments it runs all but the slow ones: first, three at a time, what takes as long as it takes (much of it
# waits for something); then, one at a time, what must keep pace with real sound.
set -euo pipefail
here="$(cd "$(dirname "$0")/.." && pwd)"
cd "$here"
venv="${GROVE_VENV:-.venv}"
bash tools/system_packages.sh test
bash tools/environment.sh "$venv" dev,audio
bash tools/llama.sh "$venv"
# A virtual speaker and a virtual microphone, for this run only.
eval "$(bash tools/audio_sinks.sh start)"
folder=""
trap 'bash tools/audio_sinks.sh stop >/dev/null; [ -z "$folder" ] || rm -rf "$folder"' EXIT
# The memories that tests make are flushed to the disk at every commit: in RAM that costs nothing, where there is room.
room="$(df --output=avail /dev/shm 2>/dev/null | tail -n 1 || true)"
if [ -w /dev/shm ] && [ "${room:-0}" -gt 2000000 ] && ! grep -q "^[^ ]* /dev/shm .*noexec" /proc/mounts; then
    folder="$(mktemp -d /dev/shm/ge.XXXXXX)"
fi
# A short path: those of sockets must fit into 107 bytes.
tests() { "$venv/bin/python" -m pytest ${folder:+--basetemp "$folder/t"} "$@"; }
if [ "$#" -gt 0 ]; then
    tests -m "not slow" "$@"
else
    failed=0
    tests -m "not slow and not realtime" --numprocesses 3 --dist loadfile --no-loadscope-reorder || failed=$?
    tests -m "not slow and realtime" || failed=$?
    exit "$failed"
fi

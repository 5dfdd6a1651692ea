#!/usr/bin/env bash
# Installs the Debian/Ubuntu packages the project needs.  Usage: system_packages.sh [run|test]
#   run   what the main job needs: Python's venv module and the phonemes of the voice
#   test  that, and what the tests need: a compiler, PortAudio, PulseAudio, media tools, test servers
# Nothing is asked of apt when everything is there already.
set -euo pipefail

run=(python3-venv espeak-ng)
test=("${run[@]}" build-essential cmake ninja-build python3-dev portaudio19-dev pulseaudio pulseaudio-utils
      libasound2-plugins sox ffmpeg gstreamer1.0-rtsp gstreamer1.0-plugins-good gstreamer1.0-plugins-bad
      gstreamer1.0-plugins-ugly python3-gi gir1.2-gst-rtsp-server-1.0)
case "${1:-run}" in
    run) wanted=("${run[@]}") ;;
    test) wanted=("${test[@]}") ;;
    *) echo "usage: $0 [run|test]" >&2; exit 2 ;;
esac

missing=()
for package in "${wanted[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' || missing+=("$package")
done
[ "${#missing[@]}" -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "Not root and no sudo: ask for these packages: ${missing[*]}" >&2; exit 1; }
    as_root=(sudo)
fi
echo "Installing: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null

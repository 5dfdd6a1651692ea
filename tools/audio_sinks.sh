#!/bin/sh
# A virtual speaker and a virtual microphone for tests: PulseAudio with null sinks, without D-Bus, as root or not.
#
#   tools/audio_sinks.sh start    start it (again: no harm) and print the variables that lead to it
#   tools/audio_sinks.sh env      print them only:  eval "$(tools/audio_sinks.sh env)"
#   tools/audio_sinks.sh status   exit 0 when it runs
#   tools/audio_sinks.sh stop     end it
#   tools/audio_sinks.sh unplug | replug            take the speaker away, and give it back
#   tools/audio_sinks.sh unplug-mic | replug-mic    the microphone
#
# What is played to the default sink `speaker` can be recorded from `speaker.monitor`;
# what is played to the sink `micfeed` comes in at the default source `mic`.
# It has a folder and a socket of its own: a PulseAudio that you use is never touched.
set -eu

runtime=${XDG_RUNTIME_DIR:-}
if [ -n "$runtime" ] && [ -d "$runtime" ] && [ -w "$runtime" ]; then
    folder=$runtime/grove-edge-audio
else
    folder=${TMPDIR:-/tmp}/grove-edge-audio-$(id -u)
fi
socket=$folder/native

export PULSE_SERVER="unix:$socket" PULSE_RUNTIME_PATH="$folder" PULSE_STATE_PATH="$folder" PULSE_COOKIE="$folder/cookie"

variables() {
    echo "export PULSE_SERVER='$PULSE_SERVER' PULSE_RUNTIME_PATH='$PULSE_RUNTIME_PATH' PULSE_COOKIE='$PULSE_COOKIE'"
}

runs() {
    timeout 5 pactl info >/dev/null 2>&1
}

speaker() {
    pactl load-module module-null-sink sink_name=speaker rate=48000 channels=1 norewinds=1 \
        sink_properties=device.description=VirtualSpeaker >/dev/null
    pactl set-default-sink speaker
}

mic() {
    pactl load-module module-remap-source source_name=mic master=micfeed.monitor \
        source_properties=device.description=VirtualMic >/dev/null
    pactl set-default-source mic
}

unload() {
    pactl list short modules | awk -v name="$1" 'index($0, name "\t") || index($0, name " ") {print $1}' |
        xargs -r -n1 pactl unload-module
}

start() {
    for program in pulseaudio pactl; do
        command -v $program >/dev/null || {
            echo "audio_sinks: $program is missing: apt-get install pulseaudio pulseaudio-utils libasound2-plugins" >&2
            exit 1
        }
    done
    mkdir -p "$folder"
    chmod 700 "$folder"
    if ! runs; then
        rm -f "$socket"
        pulseaudio -n --daemonize=yes --exit-idle-time=-1 --use-pid-file=no --log-target="file:$folder/log" \
            -L "module-native-protocol-unix auth-anonymous=1 socket=$socket" 2>>"$folder/log" || {
            echo "audio_sinks: PulseAudio did not start, see $folder/log" >&2
            exit 1
        }
        tries=0
        until runs; do
            tries=$((tries + 1))
            [ $tries -lt 50 ] || { echo "audio_sinks: PulseAudio does not answer, see $folder/log" >&2; exit 1; }
            sleep 0.1
        done
    fi
    sinks=$(pactl list short sinks)
    case $sinks in *micfeed*) ;; *)
        pactl load-module module-null-sink sink_name=micfeed rate=16000 channels=1 norewinds=1 \
            sink_properties=device.description=MicFeed >/dev/null
        mic ;;
    esac
    case $sinks in *speaker*) ;; *) speaker ;; esac
}

case ${1:-start} in
start) start && variables ;;
env) variables ;;
status) runs ;;
stop) if runs; then pactl exit; fi ;;
unplug) unload sink_name=speaker ;;
replug) speaker ;;
unplug-mic) unload source_name=mic ;;
replug-mic) mic ;;
*) sed -n '2,12s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac

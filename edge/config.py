"""Settings: `grove-edge.toml`, overridden by GROVE_EDGE_* environment variables; every key says its unit.

Nested keys of the environment are joined by two underscores (GROVE_EDGE_MEMORY__WINDOW_S=30); the owner's name also
has the short form GROVE_EDGE_OWNER_NAME.  Unknown keys are errors, so that a typing slip never silently does nothing.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Literal, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, SettingsError

from edge.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ProfileName: TypeAlias = Literal["wear", "clip"]
Domain: TypeAlias = Literal["daily", "procedure", "third-person"]
Frequency: TypeAlias = Literal["minimal", "low", "normal", "high"]
Share: TypeAlias = Literal["nothing", "text", "text+frames"]
Looker: TypeAlias = Literal["off", "local", "remote", "remote-then-local"]
Thinker: TypeAlias = Literal["rules", "local", "remote", "remote-then-local"]
BoardChoice: TypeAlias = Literal["auto", "orin-nano", "orin-nx", "agx", "pi5", "x86"]

ENV_PREFIX = "GROVE_EDGE_"
CONFIG_NAME = "grove-edge.toml"


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Owner(_Section):
    """Whose memory it is."""

    name: str = Field("", max_length=200, description="The wearer's name as others say it; empty: not given.")
    zone: str = Field("", description="IANA zone such as Europe/Zurich; empty: the machine's.")
    consent: bool = Field(False, description="The owner has read what is stored and agreed (set by setup).")

    @field_validator("zone")
    @classmethod
    def _is_a_zone(cls, zone: str) -> str:
        try:
            if zone:
                ZoneInfo(zone)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:  # OSError: a folder of zones, a name too long
            raise ValueError(f"{zone[:40]!r} is not a time zone, write it as Europe/Zurich") from error
        return zone


class Growth(_Section):
    """Constants of GROVE's table 10 for one profile."""

    window_s: float = Field(30.0, gt=0, le=300, description="Length of a window, seconds.")
    frame_interval_s: float = Field(5.0, gt=0, le=60, description="Time between sampled frames, seconds.")
    cap_s: float = Field(600.0, gt=0, description="Longest episode, seconds.")
    gap_s: float = Field(60.0, gt=0, description="A recording gap longer than this forces a cut, seconds.")
    min_frames: int = Field(5, ge=1, description="Frames an open unit needs before a semantic check.")
    anchors: int = Field(3, ge=1, description="Recent windows of the open unit an arriving window is compared with.")


class Memory(_Section):
    """How the memory grows."""

    profile: ProfileName = Field("wear", description="wear: all-day; clip: files under ten minutes.")
    domain: Domain = Field("daily", description="daily, procedure or third-person.")
    wear: Growth = Growth()
    clip: Growth = Growth(window_s=10.0, frame_interval_s=2.0, cap_s=120.0)
    procedure_cap_s: float = Field(90.0, gt=0, description="Longest episode while a procedure is under way, seconds.")
    procedure_min_s: float = Field(20.0, gt=0, description="Length below which such an episode is not cut, seconds.")
    moment_ceiling: int = Field(200, ge=5, description="Most moments of one episode.")
    pattern_batch: int = Field(10, ge=1, description="Candidates judged together.")
    resynthesis: int = Field(5, ge=1, description="Newest episodes read in full when a pattern is rewritten.")
    reestimate: int = Field(3, ge=1, description="Updates of a pattern between re-estimations of roles and coherence.")
    synchronous: Literal["full", "normal"] = Field("full", description="full: a commit survives a power cut.")

    def growth(self, profile: ProfileName) -> Growth:
        """The constants of a profile."""
        return self.wear if profile == "wear" else self.clip

    def procedure(self, profile: ProfileName) -> Growth:
        """The constants of a profile while a procedure is under way: shorter units (GROVE: 20-90 s)."""
        own = self.growth(profile)
        frames = max(1, round(self.procedure_min_s / own.frame_interval_s))
        return own.model_copy(
            update={"cap_s": min(own.cap_s, self.procedure_cap_s), "min_frames": min(own.min_frames, frames)}
        )


class Capture(_Section):
    """Camera and microphone."""

    source: str = Field("camera", description="camera, a file, a folder of images, or a URL.")
    mic: str = Field("default", description="default, device:PART OF ITS NAME, a WAV file, or none.")
    width: int = Field(1280, ge=160, le=3840, description="Wanted frame width, pixels.")
    height: int = Field(720, ge=120, le=2160, description="Wanted frame height, pixels.")
    stale_s: float = Field(10.0, gt=0, description="A source whose newest frame is older is opened anew, seconds.")
    backoff_s: float = Field(2.0, gt=0, description="First wait before a dead source is opened again, seconds.")
    backoff_max_s: float = Field(32.0, gt=0, description="Longest such wait, seconds.")


class Perception(_Section):
    """What is looked for in frames and sound."""

    blur_min: float = Field(20.0, ge=0, description="Laplacian variance below which a frame is too blurred to keep.")
    change_min: float = Field(20.0, ge=0, description="Mean gray difference to the last kept frame, 0-255.")
    ssim_max: float = Field(
        0.92, ge=0, le=1, description="A frame more alike than this to the last kept one repeats it."
    )
    object_score: float = Field(0.45, ge=0, le=1, description="Least score of a detected object.")
    text_score: float = Field(0.9, ge=0, le=1, description="Least score of a line of text.")
    text_side_px: int = Field(640, ge=160, description="Longer side a frame is scaled to to find text in it, pixels.")
    speech: bool = Field(True, description="Transcribe speech.")
    bystanders: Literal["keep", "off"] = Field(
        "keep", description="What others say: kept without a name, or off: dropped before anything is stored."
    )
    blur_faces: bool = Field(False, description="Blur faces in stored keyframes.")
    keyframe_side_px: int = Field(1280, ge=160, description="Longer side of stored keyframes, pixels.")
    keyframe_quality: int = Field(85, ge=20, le=100, description="JPEG quality of stored keyframes.")


class Storage(_Section):
    """Encryption at rest: where the key comes from.  The variable GROVE_EDGE_STORAGE_KEY, the key itself, goes first."""

    key_file: str = Field("", description="File that holds the key; new memories are then encrypted. Empty: none.")
    keyring: bool = Field(False, description="Take the key from the system's keyring (needs the extra keyring).")


class Retention(_Section):
    """What is kept for how long.  Episodes, moments, patterns and what else is made stay; the owner's pins bind."""

    tiers: bool = Field(True, description="Thin out pictures with age, as the next eight settings say.")
    recent_h: float = Field(1.0, gt=0, description="Pictures up to this age stay as they are, hours.")
    recent_gap_s: float = Field(1.0, ge=0, description="Least time between recent pictures, seconds.")
    day_h: float = Field(24.0, gt=0, description="Pictures up to this age are those of the day, hours.")
    day_gap_s: float = Field(20.0, ge=0, description="Least time between pictures of the day, seconds.")
    day_side_px: int = Field(768, ge=64, description="Longer side of pictures of the day, pixels.")
    day_quality: int = Field(70, ge=10, le=100, description="JPEG quality of pictures of the day.")
    long_gap_s: float = Field(120.0, ge=0, description="Least time between older pictures, seconds.")
    long_side_px: int = Field(512, ge=64, description="Longer side of older pictures, pixels.")
    long_quality: int = Field(45, ge=10, le=100, description="JPEG quality of older pictures.")
    keyframe_days: float = Field(0.0, ge=0, description="Pictures older than so many days go; 0: none do.")
    keyframe_gb: float = Field(0.0, ge=0, description="Space for pictures, gigabytes, the oldest go; 0: no limit.")
    trace_days: float = Field(0.0, ge=0, description="Windows older than so many days are pruned; 0: none are.")
    trace_gb: float = Field(0.0, ge=0, description="Space for the database, gigabytes; 0: no limit.")
    headroom_percent: float = Field(5.0, ge=0, le=50, description="Share of the disk that stays free, percent...")
    headroom_mb: float = Field(500.0, ge=0, description="...but no more than so many megabytes.")
    every_s: float = Field(600.0, ge=1, description="How often a running device looks, seconds.")


class Models(_Section):
    """Which model plays which role; ids are those of `grove-edge models list`."""

    text_embedding: str = Field("wordllama-256", description="Text embedding the database is made with.")
    asr: str = Field("whisper-tiny.en", description="Speech recognition.")
    threads: int = Field(2, ge=1, description="Threads an engine may use.")


class Remote(_Section):
    """A remote model: an endpoint that speaks OpenAI's API.  Nothing is sent anywhere while no role names it."""

    url: str = Field("", pattern=r"^$|^https?://.+", description="Base address, as in https://host/v1; empty: none.")
    model: str = Field("", description="Model name as the endpoint knows it.")
    vision_model: str = Field("", description="Model that looks at frames; empty: the same.")
    key_env: str = Field("OPENAI_API_KEY", description="Environment variable that holds the key.")
    vision_may_send: Share = Field("nothing", description="What may leave the device to have frames described.")
    consolidation_may_send: Share = Field("text", description="What may leave the device to summarise and cut.")
    matching_may_send: Share = Field("text", description="What may leave the device to match patterns.")
    experts_may_send: Share = Field("text", description="What may leave the device to offer services.")
    agent_may_send: Share = Field("text", description="What may leave the device to answer questions.")
    first_byte_s: float = Field(5.0, gt=0, le=60, description="Without a byte for so long there is no answer, seconds.")
    tries: int = Field(3, ge=1, le=10, description="Requests for one answer.")
    frames_px: int = Field(768, ge=64, le=2048, description="Longer side of frames that are sent, pixels.")


class Llm(_Section):
    """Language models.  All off by default: rules and light perception do the work."""

    vision: Looker = Field("off", description="Who describes frames: off, local, remote, remote-then-local.")
    consolidation: Thinker = Field("rules", description="Who summarises: rules, local, remote, remote-then-local.")
    boundary: Thinker = Field(
        "rules", description="Who ends episodes: rules, local, remote, remote-then-local; a call for each window."
    )
    matching: Thinker = Field("rules", description="Who matches patterns: rules, local, remote, remote-then-local.")
    experts: Thinker = Field(
        "rules", description="Who offers services beside the rules: rules (nobody), local, remote, remote-then-local."
    )
    agent: Thinker = Field("rules", description="Who answers beyond rules: rules, local, remote, remote-then-local.")
    vision_model: str = Field("qwen3-vl-2b", description="Local model that looks: an id, or the path of a GGUF file.")
    vision_mmproj: str = Field("", description="Vision part (mmproj) that goes with a path.")
    language_model: str = Field("qwen3-vl-2b", description="Local model for text: an id, or the path of a GGUF file.")
    board: BoardChoice = Field(
        "auto", description="auto, orin-nano, orin-nx, agx, pi5 or x86: defaults of what follows."
    )
    gpu_layers: int | None = Field(None, ge=-1, description="Layers on the GPU, -1 all; unset: the board's.")
    threads: int | None = Field(None, ge=0, description="Threads, 0 all cores but one; unset: the board's.")
    context: int | None = Field(None, ge=512, description="Context in tokens; unset: the board's.")
    kv: Literal["f16", "q8_0", "q4_0"] | None = Field(None, description="Key-value cache; unset: the board's.")
    memory_mb: int = Field(0, ge=0, description="Memory a model's process may hold, MB; 0: 60 % of the machine's.")
    idle_s: float = Field(
        300.0, ge=0, description="Without a request for so long a model is unloaded, seconds; 0: never."
    )
    agent_seconds: float = Field(60.0, gt=0, le=600, description="Time a model may take for an answer, seconds.")
    agent_tokens: int = Field(24_000, ge=500, description="Tokens a model may read and write for an answer.")
    agent_rounds: int = Field(0, ge=0, le=12, description="Rounds of an answer, at most; 0: by what the memory covers.")
    boundary_timeout_s: float = Field(
        0.0, ge=0, description="Patience for one boundary, seconds; 0: 0.5 of a window; then the rules say."
    )
    thinking_timeout_s: float = Field(300.0, gt=0, description="Patience for one summary or match, seconds.")
    upgrade: bool = Field(
        True, description="What rules wrote while the model was away is written anew when it is back."
    )
    vision_timeout_s: float = Field(0.0, ge=0, description="Patience for one window, seconds; 0: 0.8 of a window.")
    vision_frames: int = Field(6, ge=1, le=16, description="Frames of a window that are looked at, at most.")
    vision_tokens: int = Field(900, ge=100, le=4000, description="Tokens of one window's description, at most.")
    remote: Remote = Remote()


class Voice(_Section):
    """Speaking and listening."""

    speaker: str = Field("default", description="default, device:PART OF ITS NAME, a WAV file, or none.")
    speak_alerts: bool = Field(True, description="Speak delivered alerts.")
    listen: bool = Field(True, description="Listen for the wake word and answer (with a live source or in real time).")
    wake_words: str = Field(
        "micro-hey-jarvis",
        description="Wake-word models with blanks between them: ids, .tflite files, wyoming://HOST:PORT.",
    )
    stop_words: str = Field("", description="Models of words that silence the device, as in wake_words.")
    asr: str = Field(
        "whisper-tiny.en", description="Recognition of what is said to the device: an id or wyoming://HOST:PORT."
    )
    asr_saver: str = Field("whisper-tiny.en", description="The same while the battery is low.")
    vad: str = Field("silero-vad-v6", description="Who tells speech from silence.")
    tts: str = Field("", description="Voice: an id or wyoming://HOST:PORT; empty: the best there is.")
    silence_s: float = Field(0.5, ge=0.3, le=3, description="Silence that ends a whole question, seconds.")
    pause_s: float = Field(0.8, ge=0.3, le=3, description="Silence that ends a sentence that may go on, seconds.")
    open_s: float = Field(2.0, ge=0.5, le=3, description="Silence that ends one that must go on, seconds.")
    wait_s: float = Field(5.0, ge=1, le=30, description="Wait for the first word after the wake word, seconds.")
    longest_s: float = Field(20.0, ge=3, le=28, description="Longest sentence, seconds.")
    earcons: bool = Field(True, description="Short sounds that tell when it listens and when it gave up.")
    interrupt: Literal["speech", "wake"] = Field(
        "speech", description="What cuts off the device while it speaks: any voice, or the wake word alone."
    )
    volume: float = Field(0.7, gt=0, le=1, description="Volume of its voice in ordinary surroundings, 0-1.")
    follow_noise: bool = Field(True, description="Speak softer where it is quiet and louder where it is loud.")


class Quiet(_Section):
    """Hours in which only critical alerts are spoken, local time."""

    start: str = Field("", pattern=r"^$|^([01]\d|2[0-3]):[0-5]\d$", description="HH:MM, empty: no quiet hours.")
    end: str = Field("", pattern=r"^$|^([01]\d|2[0-3]):[0-5]\d$", description="HH:MM; may lie after midnight.")
    weekdays: str = Field(
        "mon tue wed thu fri sat sun",
        pattern=r"(?i)^[\s,]*((mon|tue|wed|thu|fri|sat|sun)[a-z]*[\s,]*)*$",
        description="Days on which the hours begin, as in mon tue wed.",
    )


class Alerts(_Section):
    """The wearer's patience."""

    frequency: Frequency = Field("normal", description="minimal, low, normal or high.")
    quiet: Quiet = Quiet()


class Device(_Section):
    """The device around the runtime."""

    glasses: str = Field(
        "", description="Address of the glasses: serial:/dev/ttyACM0, tcp:HOST:PORT, ble:NAME; empty: none."
    )
    need_light: bool = Field(True, description="Record only while the glasses' recording light shines.")
    power: str = Field(
        "auto",
        pattern=r"^(auto|kernel|jetson|upower|none|file:.+)$",
        description="Who tells battery and heat without glasses: auto, kernel, jetson, upower, file:PATH or none.",
    )
    health_port: int = Field(0, ge=0, le=65535, description="HTTP port of /health on loopback; 0: none.")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Least serious events that are logged: debug, info, warning or error."
    )
    log_mb: float = Field(5.0, gt=0, description="Size at which the log is rotated, megabytes.")
    log_files: int = Field(5, ge=1, description="Rotated logs kept.")


class Config(BaseSettings):
    """All settings."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX,
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        nested_model_default_partial_update=True,
    )

    owner: Owner = Owner()
    memory: Memory = Memory()
    capture: Capture = Capture()
    perception: Perception = Perception()
    storage: Storage = Storage()
    retention: Retention = Retention()
    models: Models = Models()
    llm: Llm = Llm()
    voice: Voice = Voice()
    alerts: Alerts = Alerts()
    device: Device = Device()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment wins over the file, whose values come as arguments."""
        del settings_cls, dotenv_settings, file_secret_settings
        return env_settings, init_settings


def config_path() -> Path:
    """Where the settings file is looked for: $GROVE_EDGE_CONFIG, else the XDG config folder."""
    given = os.environ.get(ENV_PREFIX + "CONFIG")
    return Path(given) if given else _xdg("XDG_CONFIG_HOME", ".config") / CONFIG_NAME


def data_dir() -> Path:
    """Where memories live (XDG data folder)."""
    return _xdg("XDG_DATA_HOME", ".local/share")


def state_dir() -> Path:
    """Where logs and spools live (XDG state folder)."""
    return _xdg("XDG_STATE_HOME", ".local/state")


def cache_dir() -> Path:
    """Where what can be made again lives (XDG cache folder)."""
    return _xdg("XDG_CACHE_HOME", ".cache")


def runtime_dir() -> Path:
    """Where the control socket lives: the user's runtime folder, else one of our own under the state folder."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    return Path(base) / "grove-edge" if base and Path(base).is_dir() else state_dir() / "run"


def private_dir(path: Path) -> Path:
    """Make a folder that only its owner can enter (0700).  Raises ConfigError when it cannot be made."""
    try:
        for folder in (*reversed(path.parents), path):  # mkdir gives the mode to the last one only
            if not folder.exists():
                folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"The folder {path} cannot be made ({error.strerror}): check its permissions.") from error
    return path


def load(path: Path | None = None) -> Config:
    """Read the settings file (if there is one) and the environment.  Raises ConfigError naming the wrong key."""
    file = path or config_path()
    named = path is not None or ENV_PREFIX + "CONFIG" in os.environ
    values: dict[str, Any] = {}
    try:
        there = file.exists()
    except OSError:  # a name too long for the file system
        there = False
    if there:
        try:
            values = parse(file.read_text(encoding="utf-8"), file)
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{file} cannot be read ({_why(error)}): correct it or move it away.") from error
    elif named:
        raise ConfigError(f"There is no settings file at {file}: check the path, or run grove-edge setup.")
    _check_environment()
    for variable, (section, key) in _SHORT.items():
        if variable in os.environ:
            values.setdefault(section, {})[key] = os.environ[variable]
    try:
        return Config(**values)
    except SettingsError as error:
        raise ConfigError(f"The environment holds a setting that cannot be read ({error}): correct it.") from error
    except ValidationError as error:
        raise _wrong(error, "", file) from error


def parse(text: str, file: Path) -> dict[str, Any]:
    """The sections of a settings file, each checked.  Raises ConfigError naming the file and the wrong key."""
    try:
        values: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file} cannot be read as TOML ({error}): correct it or move it away.") from error
    for section, content in values.items():
        field = Config.model_fields.get(section)
        if field is None:
            raise ConfigError(f"There is no section {section} (in {file}): see docs/settings.md for those there are.")
        model: Any = field.annotation
        try:
            model.model_validate(content)
        except ValidationError as error:
            raise _wrong(error, section, file) from error
    return values


def _wrong(error: ValidationError, section: str, file: Path) -> ConfigError:
    first = error.errors()[0]
    where = ".".join(str(p) for p in (section, *first["loc"]) if p != "")
    told = first["msg"].removeprefix("Value error, ")
    return ConfigError(f"Setting {where}: {told}. Correct it in {file} or the environment.")


def _why(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


_NOT_SETTINGS = {ENV_PREFIX + name for name in ("CONFIG", "TEST_LLM", "STORAGE_KEY", "STORAGE_NEW_KEY")}
_SHORT = {ENV_PREFIX + "OWNER_NAME": ("owner", "name"), ENV_PREFIX + "OWNER_ZONE": ("owner", "zone")}


def _check_environment() -> None:
    """A variable that names no section would be passed over in silence: refuse it."""
    for variable in os.environ:
        if variable.startswith(ENV_PREFIX) and variable not in _NOT_SETTINGS and variable not in _SHORT:
            section, _, key = variable[len(ENV_PREFIX) :].lower().partition("__")
            if section not in Config.model_fields or not key:
                raise ConfigError(
                    f"{variable} names no setting: write {ENV_PREFIX}SECTION__KEY, as in {ENV_PREFIX}OWNER__NAME."
                )


def _xdg(variable: str, fallback: str) -> Path:
    base = os.environ.get(variable)
    return (Path(base) if base and Path(base).is_absolute() else Path.home() / fallback) / "grove-edge"

"""The session: a state machine that turns a line of bytes into messages delivered exactly once and in order.

Pure: every call takes ``now_us`` (any clock that does not go back) and returns a list of outputs for the caller to carry
out in order. It never waits, reads no clock, does no I/O. Both sides run the same machine.

    opened / closed     the line came up or ended
    feed                bytes from the line
    send                a message of ours
    commit              the application has stored a delivered message for good: only now is it acknowledged
    tick                time passed (at the latest at ``deadline``)

Handshake: both sides send Hello with a fresh nonce until they see it echoed. Each Hello tells what was committed of the
peer's queue, so whatever crashed, the sender drops what is stored and sends the rest again; sequence numbers (with the
queue's identity) make the receiver drop what it has. Frames tagged with another nonce are from an earlier life.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from firmware_bridge import protocol as p
from firmware_bridge.errors import NotCapable, OutboxFull, SessionError
from firmware_bridge.events import (
    DEFAULTS,
    Deliver,
    Down,
    Output,
    Queued,
    Released,
    Restored,
    SessionStats,
    Settings,
    Transmit,
    Up,
)
from firmware_bridge.frames import ASSURED, RESENT, Frame, FrameDecoder, encode_frame
from firmware_bridge.outbox import Outbox, ahead
from firmware_bridge.timesync import ClockFilter

MS = 1_000
ACK_WAIT_US = 5_000


@dataclass(slots=True)
class _Receiving:
    """What we know of the peer's queue."""

    stream: int = 0
    committed: int = 0
    delivered: int = 0
    early: dict[int, Frame] = field(default_factory=dict)
    datagram: int | None = None


class Session:
    """One end of the link. ``nonce`` must differ at every start (random, or counted in flash), 1 to 2**32 - 1."""

    def __init__(
        self,
        role: p.Role,
        *,
        nonce: int,
        restored: Restored,
        name: str = "grove-edge",
        capabilities: p.Capability = p.ALL_CAPABILITIES,
        settings: Settings = DEFAULTS,
    ) -> None:
        if not 0 < nonce < 2**32 or not 0 < restored.stream < 2**32 or not 1 <= settings.window <= 32:
            raise SessionError("nonce and stream are 1 to 2**32 - 1, the window 1 to 32")
        self.role, self.name, self.capabilities, self.settings = role, name, capabilities, settings
        self.stats = SessionStats()
        self.decoder = FrameDecoder()
        self.peer: p.Hello | None = None
        self.up = False
        self._line = False
        self._nonce = nonce
        self._refused = False
        self._outbox = Outbox(restored.stream, restored.next_seq, restored.queued, settings.outbox)
        self._in = _Receiving(restored.peer_stream, restored.peer_committed, restored.peer_committed)
        self._out_datagram = 0
        self._hello_at = self._hello_wait = self._heard_at = self._sent_at = self._ping_at = 0
        self._replied_at = -(1 << 62)
        self._ack_at: int | None = None
        self._clock = ClockFilter()
        self._incoming = p.Way.TO_DEVICE if role == p.Role.DEVICE else p.Way.TO_HOST

    # -- what the caller may ask -------------------------------------------------------------------------------------

    @property
    def queued(self) -> int:
        """Assured messages that the peer has not committed."""
        return len(self._outbox)

    @property
    def stream(self) -> int:
        """Identity of our queue."""
        return self._outbox.stream

    @property
    def position(self) -> tuple[int, int]:
        """The peer's queue (0: none yet) and the last of it that was committed."""
        return self._in.stream, self._in.committed

    @property
    def offset_us(self) -> int | None:
        """Peer's clock minus ours, None until known in this session."""
        return self._clock.offset_us

    def deadline(self) -> int | None:
        """When ``tick`` must be called at the latest; None while the line is closed."""
        if not self._line:
            return None
        if not self.up:
            return self._hello_at
        times = [self._sent_at + self.settings.keepalive_us, self._heard_at + self._silence_us()]
        resend = self._outbox.deadline()
        if resend is not None:
            times.append(resend)
        if self._ack_at is not None:
            times.append(self._ack_at)
        if self._pings():
            times.append(self._ping_at)
        return min(times)

    # -- inputs ------------------------------------------------------------------------------------------------------

    def opened(self, now_us: int) -> list[Output]:
        """The line is open: greet."""
        self._line, self.decoder = True, FrameDecoder()
        out: list[Output] = []
        self._restart(now_us, "closed", out)
        return out

    def closed(self, now_us: int) -> list[Output]:
        """The line ended."""
        out: list[Output] = []
        self._restart(now_us, "closed", out)
        self._line = False
        return [o for o in out if not isinstance(o, Transmit)]

    def step(self, now_us: int, item: bytes | p.Message | None) -> list[Output]:
        """One input of any kind: bytes are fed, a message is sent, None is a tick."""
        if item is None:
            return self.tick(now_us)
        return self.feed(now_us, item) if isinstance(item, bytes) else self.send(now_us, item)

    def send(self, now_us: int, message: p.Message) -> list[Output]:
        """Send a message. Assured ones are queued while the link is down; datagrams are then dropped and counted.

        Raises MessageError (a value does not fit), OutboxFull, NotCapable (the connected peer lacks the part).
        """
        number, payload = p.pack(message)
        row = p.BY_NUMBER.get(number, p.Row(number, p.Unknown, p.Way.BOTH, p.Delivery.ASSURED))
        if row.delivery == p.Delivery.LINK or row.way == self._incoming:
            raise SessionError(f"{type(message).__name__} is not for a {self.role.name.lower()} to send")
        if self.peer is not None and row.needs & ~self.peer.capabilities:
            raise NotCapable(f"the device cannot do {row.needs.name}")
        out: list[Output] = []
        if row.delivery == p.Delivery.DATAGRAM:
            if self.up:
                self._out_datagram += 1
                self._transmit(now_us, number, 0, self._out_datagram & 0xFFFFFFFF, payload, out)
            else:
                self.stats.datagrams_dropped += 1
            return out
        if self._outbox.full():
            raise OutboxFull(f"{len(self._outbox)} messages wait")
        out.append(Queued(self._outbox.add(number, payload), number, payload))
        self._pump(now_us, out)
        return out

    def commit(self, now_us: int, stream: int, seq: int) -> list[Output]:
        """The application stored message ``seq`` of ``stream`` (see Deliver); commits come in order of delivery."""
        out: list[Output] = []
        if stream != self._in.stream:  # the peer started a new queue meanwhile: nobody waits for this
            return out
        if ahead(seq, self._in.committed) <= 0:
            return out
        if ahead(seq, self._in.committed) != 1 or ahead(seq, self._in.delivered) > 0:
            raise SessionError(f"message {seq} was not delivered next after {self._in.committed}")
        self._in.committed = seq
        if self.up and seq == self._in.delivered:
            self._ack(now_us, out)
        elif self._ack_at is None:  # more commits are on their way: one acknowledgement for all, but soon
            self._ack_at = now_us + ACK_WAIT_US
        return out

    def feed(self, now_us: int, data: bytes) -> list[Output]:
        """Bytes from the line, in whatever pieces."""
        out: list[Output] = []
        for frame in self.decoder.feed(data):
            self._frame(now_us, frame, out)
        return out

    def tick(self, now_us: int) -> list[Output]:
        """Time passed: greet again, keep alive, send again, notice silence."""
        out: list[Output] = []
        if not self._line:
            return out
        if self.up and now_us - self._heard_at >= self._silence_us():
            self._restart(now_us, "silence", out)
        if not self.up:
            if now_us >= self._hello_at:
                self._hello(now_us, out, reply=True)
                self._hello_wait = min(2 * self._hello_wait, self.settings.hello_most_us)
                self._hello_at = now_us + (self.settings.hello_refused_us if self._refused else self._hello_wait)
            return out
        self._pump(now_us, out)
        if self._ack_at is not None and now_us >= self._ack_at:
            self._ack(now_us, out)
        if self._pings() and now_us >= self._ping_at:
            often = 250 * MS if self._clock.samples < 4 else self.settings.time_ping_us
            self._ping_at = now_us + often
            self._link(now_us, p.TimePing(now_us), out)
        if now_us - self._sent_at >= self.settings.keepalive_us:
            self._link(now_us, p.KeepAlive((now_us // MS) & 0xFFFFFFFF), out)
        return out

    def bye(self, now_us: int, reason: p.ByeReason) -> list[Output]:
        """Tell the peer that we leave; ``opened`` greets again."""
        out: list[Output] = []
        if self.up:
            self._link(now_us, p.Bye(reason), out)
            self.up, self._line = False, False
            out.append(Down("bye"))
        return out

    # -- inside ------------------------------------------------------------------------------------------------------

    def _frame(self, now: int, frame: Frame, out: list[Output]) -> None:
        if not self._line:
            return
        if frame.number == 0x01:
            hello = p.unpack(frame.number, frame.payload)
            if isinstance(hello, p.Hello) and hello.nonce and hello.stream and hello.role != self.role:
                self._on_hello(now, hello, out)
            else:
                self.stats.malformed += 1
            return
        peer = self.peer
        if not self.up or peer is None or frame.session != peer.nonce & 0xFFFF:
            self.stats.strays += 1
            if now - self._replied_at >= 100 * MS:  # a peer that believes we know it: tell it better
                self._replied_at = now
                self._hello(now, out, reply=True)
            return
        self._heard_at = now
        if frame.flags & ASSURED:
            self._assured(now, frame, out)
            return
        row = p.BY_NUMBER.get(frame.number)
        if row is not None and row.delivery == p.Delivery.LINK:
            self._on_link(now, p.unpack(frame.number, frame.payload), out)
            return
        last = self._in.datagram
        if last is not None:
            step = ahead(frame.seq, last)
            if step <= 0:
                self.stats.duplicates += 1
                return
            self.stats.datagrams_lost += step - 1
        self._in.datagram = frame.seq
        message = self._readable(frame)
        if message is not None:
            out.append(Deliver(message))

    def _readable(self, frame: Frame) -> p.Message | None:
        """The message, or None (counted) when it is unknown, malformed or not for this side."""
        message = p.unpack(frame.number, frame.payload)
        if isinstance(message, p.Unknown):
            if message.malformed:
                self.stats.malformed += 1
            else:
                self.stats.unknown += 1
            return None
        row = p.BY_MESSAGE[type(message)]
        if row.way != self._incoming or row.delivery == p.Delivery.LINK:
            self.stats.misdirected += 1
            return None
        return message

    def _assured(self, now: int, frame: Frame, out: list[Output]) -> None:
        state = self._in
        step = ahead(frame.seq, state.delivered)
        if step <= 0 or (step > 1 and frame.seq in state.early):
            self.stats.duplicates += 1
            self._ack(now, out)
        elif step > 1:
            if ahead(frame.seq, state.committed) > self.settings.window:
                self.stats.out_of_window += 1
            else:
                state.early[frame.seq] = frame
            self._ack(now, out)
        else:
            state.early.pop(frame.seq, None)  # kept before a handshake that moved us on to it
            while True:
                state.delivered = frame.seq
                message = self._readable(frame)
                # What cannot be read is delivered too, so that commits and acknowledgements stay in step.
                content = p.Unknown(frame.number, frame.payload) if message is None else message
                out.append(Deliver(content, state.stream, frame.seq))
                following = state.early.pop((frame.seq + 1) & 0xFFFFFFFF, None)
                if following is None:
                    break
                frame = following

    def _on_link(self, now: int, message: p.Message, out: list[Output]) -> None:
        if isinstance(message, p.Ack):
            if not self._outbox.acceptable(message.committed):
                self.stats.malformed += 1
                return
            if self._outbox.acknowledge(now, message.committed, message.seen):
                out.append(Released(message.committed))
            self._pump(now, out)
        elif isinstance(message, p.TimePing):
            self._link(now, p.TimePong(message.sent_us, now, now), out)
        elif isinstance(message, p.TimePong):
            synced = self._clock.pong(now, message)
            if synced is not None:
                out.append(synced)
        elif isinstance(message, p.Bye):
            self._restart(now, "bye", out)
        elif isinstance(message, p.Unknown):
            self.stats.malformed += 1

    def _on_hello(self, now: int, hello: p.Hello, out: list[Output]) -> None:
        version = min(p.VERSION, hello.version_max)
        if version < max(p.VERSION_MIN, hello.version_min):
            if not self._refused:  # told once; our slow greeting goes on, an update by other means may help
                self._refused, self.up, self.peer = True, False, None
                self._hello_at = now
                out.append(Down("version"))
            return
        self._refused = False
        known = self.peer is not None and self.peer.nonce == hello.nonce
        if self.up and not known:
            self.up = False
            out.append(Down("restarted"))
        was_up = self.up
        self._heard_at = now
        if not known:
            self._in.datagram = None
        self.peer = hello
        if hello.echo == self._nonce and not was_up:
            self._come_up(now, hello, version, out)
        if hello.reply:
            self._hello(now, out, reply=not self.up)
        if self.up and not was_up:
            self._pump(now, out)
            if self._in.delivered != self._in.committed:
                self._ack(now, out)

    def _come_up(self, now: int, hello: p.Hello, version: int, out: list[Output]) -> None:
        self.up = True
        self.stats.handshakes += 1
        self._ping_at = now
        self._clock = ClockFilter()
        state = self._in
        if hello.stream != state.stream:
            state.stream, state.early = hello.stream, {}
            state.committed = state.delivered = (hello.base - 1) & 0xFFFFFFFF
        elif ahead(hello.base, state.committed) > 1:  # the peer forgot what we never committed, or we lost our journal
            self.stats.lost_by_peer += ahead(hello.base, state.committed) - 1
            state.early = {s: f for s, f in state.early.items() if ahead(s, hello.base) >= 0}
            state.committed = (hello.base - 1) & 0xFFFFFFFF
            if ahead(state.committed, state.delivered) > 0:
                state.delivered = state.committed
        out.append(Up(hello, version))
        told = hello.peer_stream == self._outbox.stream and self._outbox.acceptable(hello.committed)
        if told and self._outbox.acknowledge(now, hello.committed, 0):
            out.append(Released(hello.committed))
        self._outbox.rewind(min(hello.window or 1, self.settings.window))

    def _restart(self, now: int, reason: str, out: list[Output]) -> None:
        """Back to greeting, with a new nonce when the old one may still be on the line."""
        if self.up or self.peer is not None:
            self._nonce = self._nonce % 0xFFFFFFFF + 1
        if self.up:
            self.up = False
            out.append(Down(reason))
        self.peer = None
        self._hello_wait = self.settings.hello_first_us
        self._hello_at = now + (self.settings.hello_refused_us if self._refused else self._hello_wait)
        if self._line:
            self._hello(now, out, reply=True)

    def _hello(self, now: int, out: list[Output], *, reply: bool) -> None:
        hello = p.Hello(
            version_min=p.VERSION_MIN,
            version_max=p.VERSION,
            role=self.role,
            reply=reply,
            nonce=self._nonce,
            echo=self.peer.nonce if self.peer else 0,
            stream=self._outbox.stream,
            base=self._outbox.base(),
            peer_stream=self._in.stream,
            committed=self._in.committed,
            capabilities=int(self.capabilities),
            keepalive_ms=self.settings.keepalive_us // MS,
            window=self.settings.window,
            name=self.name,
        )
        self._link(now, hello, out)

    def _ack(self, now: int, out: list[Output]) -> None:
        self._ack_at, state = None, self._in
        pending = ahead(state.delivered, state.committed)
        seen = (1 << pending) - 1
        for seq in state.early:
            seen |= 1 << (ahead(seq, state.committed) - 1)
        self._link(now, p.Ack(state.committed, seen & 0xFFFFFFFF), out)

    def _pump(self, now: int, out: list[Output]) -> None:
        if not self.up:
            return
        for entry, again in self._outbox.due(now):
            self.stats.resent += again
            self._transmit(now, entry.number, ASSURED | (RESENT if again else 0), entry.seq, entry.payload, out)

    def _link(self, now: int, message: p.Message, out: list[Output]) -> None:
        number, payload = p.pack(message)
        self._transmit(now, number, 0, 0, payload, out)

    def _transmit(self, now: int, number: int, flags: int, seq: int, payload: bytes, out: list[Output]) -> None:
        self._sent_at = now
        out.append(Transmit(encode_frame(Frame(number, flags, self._nonce & 0xFFFF, seq, payload))))

    def _pings(self) -> bool:
        return self.role == p.Role.HOST and self.settings.time_ping_us > 0

    def _silence_us(self) -> int:
        peer_ms = self.peer.keepalive_ms if self.peer else 1_000
        return peer_ms * MS * 7 // 2

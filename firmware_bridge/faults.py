"""A bad line on purpose: corrupted, lost, doubled and reordered frames, noise between them, lost acknowledgements."""

from __future__ import annotations

import random
from dataclasses import dataclass

from firmware_bridge.frames import decode_piece

ACK = 0x02


@dataclass(frozen=True, slots=True)
class LineRates:
    """Shares of frames, each 0 to 1, that suffer so; ``noise`` puts random bytes before a frame."""

    corrupt: float = 0.0
    drop: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    noise: float = 0.0
    lose_acks: float = 0.0

    def any(self) -> bool:
        """Whether the line is bad at all."""
        return any((self.corrupt, self.drop, self.duplicate, self.reorder, self.noise, self.lose_acks))


CLEAN = LineRates()


class BadLine:
    """One direction of a line. Frames go in, what is left of them comes out; same seed, same faults."""

    def __init__(self, rates: LineRates, seed: int) -> None:
        self.rates = rates
        self.hurt = 0
        """Frames that did not pass unharmed."""
        self._rng = random.Random(seed)
        self._rest = b""
        self._held: list[tuple[int, bytes]] = []

    def send(self, data: bytes) -> bytes:
        """Pass bytes on; an incomplete frame waits for its end, a reordered one for one to three later frames."""
        if not self.rates.any() and not self._rest and not self._held:
            return data
        pieces = (self._rest + data).split(b"\0")
        self._rest = pieces.pop()
        return b"".join(self._frame(piece) for piece in pieces if piece)

    def _frame(self, piece: bytes) -> bytes:
        rng, rates, out = self._rng, self.rates, []
        hurt = self.hurt
        self.hurt += 1
        frame = decode_piece(piece) if rates.lose_acks else None
        if rng.random() < rates.drop or (frame is not None and frame.number == ACK and rng.random() < rates.lose_acks):
            pass
        elif rng.random() < rates.corrupt:
            at = rng.randrange(len(piece))
            wrong = rng.choice([b for b in range(1, 256) if b != piece[at]])
            out.append(b"\0" + piece[:at] + bytes((wrong,)) + piece[at + 1 :] + b"\0")
        elif rng.random() < rates.reorder:
            self._held.append((rng.randint(1, 3), b"\0" + piece + b"\0"))
            return b"".join(out)
        elif rng.random() < rates.duplicate:
            out.append((b"\0" + piece + b"\0") * 2)
        else:
            self.hurt = hurt
            out.append(b"\0" + piece + b"\0")
        if rng.random() < rates.noise:
            out.insert(0, rng.randbytes(rng.randint(1, 40)))
        still = []
        for wait, held in self._held:
            if wait <= 1:
                out.append(held)
            else:
                still.append((wait - 1, held))
        self._held = still
        return b"".join(out)

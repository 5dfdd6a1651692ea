"""Errors of the bridge to the glasses' microcontroller.

    BridgeError                      bridge.error
    ├── ProtocolError                bridge.protocol
    │   └── MessageError             bridge.message        a field does not fit its layout
    ├── LinkError                    bridge.link
    │   ├── LinkUnavailable          bridge.link_unavailable
    │   ├── LinkLost                 bridge.link_lost
    │   └── LinkUnsupported          bridge.link_unsupported   a driver is not installed
    ├── SessionError                 bridge.session
    │   ├── OutboxFull               bridge.outbox_full
    │   └── NotCapable               bridge.not_capable
    ├── UpdateError                  bridge.update
    ├── ScenarioError                bridge.scenario
    ├── JournalError                 bridge.journal
    └── ReferenceFailed              bridge.reference      the C device cannot be built or died

Each class has a stable ``code``; ``str(error)`` says what happened and what to do.
"""

from __future__ import annotations


class BridgeError(Exception):
    """Root of the tree; ``str(error)`` is for the user: what happened, and what to do about it (``hint``)."""

    code = "bridge.error"
    hint = "Run `grove-edge doctor` to see the state of the glasses' link."

    def __str__(self) -> str:
        happened = super().__str__()
        return f"{happened.rstrip('.')}. {self.hint}" if happened else self.hint


class ProtocolError(BridgeError):
    """Bytes or values that the wire protocol does not allow."""

    code = "bridge.protocol"
    hint = "Check that the glasses' firmware and this runtime speak the same protocol version (docs/firmware.md)."


class MessageError(ProtocolError):
    """A value does not fit the field of its message."""

    code = "bridge.message"
    hint = "Keep the value within the range that docs/firmware.md gives for the field."


class LinkError(BridgeError):
    """The line to the glasses failed."""

    code = "bridge.link"
    hint = "Check the cable or Bluetooth; the link is tried again by itself."


class LinkUnavailable(LinkError):
    """The line cannot be opened now (no such port, refused, out of range)."""

    code = "bridge.link_unavailable"
    hint = "Switch the glasses on and check the port, address or device name in the settings."


class LinkLost(LinkError):
    """An open line ended (unplugged, closed by the peer, out of range)."""

    code = "bridge.link_lost"
    hint = "Plug the glasses in or bring them nearer; the link is tried again by itself."


class LinkUnsupported(LinkError):
    """The driver that this kind of line needs is not installed or not usable here."""

    code = "bridge.link_unsupported"
    hint = "Install the driver (pip install pyserial, pip install bleak) or choose another kind of link."


class SessionError(BridgeError):
    """A call that the session's state does not allow."""

    code = "bridge.session"
    hint = "Wait until the glasses are connected, then try again."


class OutboxFull(SessionError):
    """Too many acknowledged messages wait for a peer that does not answer."""

    code = "bridge.outbox_full"
    hint = "The glasses do not answer; messages are taken again once they are back."


class NotCapable(SessionError):
    """The connected glasses said in their greeting that they cannot do this."""

    code = "bridge.not_capable"
    hint = "These glasses lack that part; switch the feature off in the settings."


class UpdateError(BridgeError):
    """A firmware update was refused, failed or was taken back; the old firmware still runs."""

    code = "bridge.update"
    hint = "Charge the glasses above 30 %, let them cool, check the file and start the update again."


class ScenarioError(BridgeError):
    """A simulator scenario cannot be read."""

    code = "bridge.scenario"
    hint = "Correct the named key in the scenario file; firmware_bridge/scenarios holds working examples."


class JournalError(BridgeError):
    """The journal of acknowledged messages cannot be read or written."""

    code = "bridge.journal"
    hint = "Check free space and rights of the data folder."


class ReferenceFailed(BridgeError):
    """The C reference device cannot be compiled or stopped answering."""

    code = "bridge.reference"
    hint = "Install a C compiler (apt install gcc) or simulate without --reference."

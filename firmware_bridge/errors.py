"""Errors of the bridge to the glasses' microcontroller.

    BridgeError                      firmware.error
    ├── ProtocolError                firmware.protocol
    │   └── MessageError             firmware.message        a field does not fit its layout
    ├── LinkError                    firmware.link
    │   ├── LinkUnavailable          firmware.link_unavailable
    │   ├── LinkLost                 firmware.link_lost
    │   └── LinkUnsupported          firmware.link_unsupported   a driver is not installed
    ├── SessionError                 firmware.session
    │   ├── OutboxFull               firmware.outbox_full
    │   └── NotCapable               firmware.not_capable
    ├── UpdateError                  firmware.update
    ├── ScenarioError                firmware.scenario
    ├── JournalError                 firmware.journal
    └── ReferenceFailed              firmware.reference      the C device cannot be built or died

Each class has a stable ``code`` and a ``hint``: one sentence for the user that says what to do.
"""

from __future__ import annotations


class BridgeError(Exception):
    """Root of the tree; ``str(error)`` says what happened, ``error.hint`` what to do about it."""

    code = "firmware.error"
    hint = "Run `grove-edge doctor` to see the state of the glasses' link."


class ProtocolError(BridgeError):
    """Bytes or values that the wire protocol does not allow."""

    code = "firmware.protocol"
    hint = "Check that the glasses' firmware and this runtime speak the same protocol version (docs/firmware.md)."


class MessageError(ProtocolError):
    """A value does not fit the field of its message."""

    code = "firmware.message"
    hint = "Keep the value within the range that docs/firmware.md gives for the field."


class LinkError(BridgeError):
    """The line to the glasses failed."""

    code = "firmware.link"
    hint = "Check the cable or Bluetooth; the link is tried again by itself."


class LinkUnavailable(LinkError):
    """The line cannot be opened now (no such port, refused, out of range)."""

    code = "firmware.link_unavailable"
    hint = "Switch the glasses on and check the port, address or device name in the settings."


class LinkLost(LinkError):
    """An open line ended (unplugged, closed by the peer, out of range)."""

    code = "firmware.link_lost"
    hint = "Plug the glasses in or bring them nearer; the link is tried again by itself."


class LinkUnsupported(LinkError):
    """The driver that this kind of line needs is not installed or not usable here."""

    code = "firmware.link_unsupported"
    hint = "Install the driver (pip install pyserial, pip install bleak) or choose another kind of link."


class SessionError(BridgeError):
    """A call that the session's state does not allow."""

    code = "firmware.session"
    hint = "Wait until the glasses are connected, then try again."


class OutboxFull(SessionError):
    """Too many acknowledged messages wait for a peer that does not answer."""

    code = "firmware.outbox_full"
    hint = "The glasses do not answer; messages are taken again once they are back."


class NotCapable(SessionError):
    """The connected glasses said in their greeting that they cannot do this."""

    code = "firmware.not_capable"
    hint = "These glasses lack that part; switch the feature off in the settings."


class UpdateError(BridgeError):
    """A firmware update was refused, failed or was taken back; the old firmware still runs."""

    code = "firmware.update"
    hint = "Charge the glasses above 30 %, let them cool, check the file and start the update again."


class ScenarioError(BridgeError):
    """A simulator scenario cannot be read."""

    code = "firmware.scenario"
    hint = "Correct the named key in the scenario file; firmware_bridge/scenarios holds working examples."


class JournalError(BridgeError):
    """The journal of acknowledged messages cannot be read or written."""

    code = "firmware.journal"
    hint = "Check free space and rights of the data folder."


class ReferenceFailed(BridgeError):
    """The C reference device cannot be compiled or stopped answering."""

    code = "firmware.reference"
    hint = "Install a C compiler (apt install gcc) or simulate without --reference."

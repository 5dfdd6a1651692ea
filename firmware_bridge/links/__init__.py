"""The lines a session can run over: serial port, Bluetooth LE, TCP and pty (both for simulators and tests)."""

from firmware_bridge.links.backoff import Backoff
from firmware_bridge.links.base import Link
from firmware_bridge.links.ble import BleLink
from firmware_bridge.links.pty import PtyLink
from firmware_bridge.links.serial import SerialLink
from firmware_bridge.links.tcp import TcpLink, TcpListener
from firmware_bridge.links.urls import open_url

__all__ = ["Backoff", "BleLink", "Link", "PtyLink", "SerialLink", "TcpLink", "TcpListener", "open_url"]

"""The link to the glasses' microcontroller: wire protocol, session, lines, simulated device, C reference.

Start at ``protocol`` (what is said), ``frames`` (how it looks on the wire), ``session`` (who may say what when);
``endpoint`` runs a session over one of ``links``. No module here reads a clock: microseconds are passed in.
"""

"""Running an engine in a process of its own, so that its crash, hang or leak is an error and not the end of the device."""

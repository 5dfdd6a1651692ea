"""The commands of the CLI, one file per kind; each parses its options, calls the runtime and prints."""

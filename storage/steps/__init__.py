"""One file a step of the schema after the first two: what it adds, applied by storage.migrations."""

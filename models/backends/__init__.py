"""One file per engine. Nothing here is imported until `models.load` needs it, and each engine only in a constructor."""

"""Classic mechanisms of the field, correct and broken, audited with the public API alone."""

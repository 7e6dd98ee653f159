"""The classics of the field, right and wrong, audited by the public API alone."""

"""dpaudit: verify or refute differential-privacy claims."""

__version__ = "0.1.0"

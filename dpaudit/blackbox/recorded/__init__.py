"""Record the draws of an unchanged function on two neighbouring inputs.

``record_draws`` is the entry point. ``rng_proxies`` replaces the sources of randomness, and ``trace`` records
the draws. ``recording`` compares two inputs and changes single numbers. ``noise`` and ``cost`` read
distributions from a recording, ``findings`` reports possible defects, and ``rewrite`` proposes the function
with its randomness taken from ``coins``.
"""

from dpaudit.blackbox.recorded.record_draws import RecordedDraws, record_draws
from dpaudit.blackbox.recorded.recording import Recording, record_runs

__all__ = ["RecordedDraws", "Recording", "record_draws", "record_runs"]

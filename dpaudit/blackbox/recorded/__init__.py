"""The draw recorder: what an unchanged function draws on two neighbouring inputs.

``ears`` stand in for the sources of randomness, ``trace`` writes down what is drawn, ``recording`` compares
two inputs and changes single numbers; ``noise`` and ``cost`` read distributions from it, ``findings`` says
what to look at, ``port`` proposes the function with coins. ``record_draws`` is the door.
"""

from dpaudit.blackbox.recorded.record_draws import RecordedDraws, record_draws
from dpaudit.blackbox.recorded.recording import Recording, record_runs

__all__ = ["RecordedDraws", "Recording", "record_draws", "record_runs"]

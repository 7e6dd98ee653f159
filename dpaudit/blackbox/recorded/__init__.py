"""The draw recorder: what an unchanged function draws on two neighbouring inputs.

``ears`` stand in for the sources of randomness, ``trace`` writes down what is drawn, ``recording`` compares
two inputs and changes single numbers; ``noise`` and ``cost`` read distributions from it, ``findings`` says
what to look at, ``port`` proposes the function with coins. ``listen`` is the door.
"""

from dpaudit.blackbox.recorded.record_draws import Listening, listen
from dpaudit.blackbox.recorded.recording import Recording, record_draws

__all__ = ["Listening", "Recording", "listen", "record_draws"]

"""Programs whose privacy claims a proof must confirm or reject, by the list that they come from.

``PROGRAMS`` has a name, the function, the claim, the declarations of the data (at one size and, if it makes
sense, at every size), and whether the program is right. The functions are not for use: the prover reads them.
"""

from __future__ import annotations

from benchmarks.proof_programs.checkdp import CHECKDP
from benchmarks.proof_programs.idioms import IDIOMS
from benchmarks.proof_programs.libraries import LIBRARIES
from benchmarks.proof_programs.not_proved import NOT_PROVED
from benchmarks.proof_programs.ordinary import ORDINARY
from benchmarks.proof_programs.registry import Program, Queries
from benchmarks.proof_programs.shadowdp import SHADOWDP
from benchmarks.proof_programs.statdp import STATDP

__all__ = ["LISTS", "NOT_PROVED", "PROGRAMS", "Program", "Queries"]

LISTS = (ORDINARY, CHECKDP, SHADOWDP, STATDP, LIBRARIES, IDIOMS)
PROGRAMS: list[Program] = [program for one in LISTS for program in one.programs]

"""Prove privacy claims of programs over symbolic data, for all data, neighbours and outcomes (``prove``)."""

from dpaudit.prover.data import EVERY, EachMoves, OneReplaced, Symbols
from dpaudit.prover.post import post
from dpaudit.prover.proof import Proof
from dpaudit.prover.prove import prove
from dpaudit.prover.symbols import RefusedError

__all__ = ["EVERY", "EachMoves", "OneReplaced", "Proof", "RefusedError", "Symbols", "post", "prove"]

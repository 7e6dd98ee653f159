"""Prove a program as the attempts of a row do: the files of all loaded programs are followed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dpaudit.core.data import Records, Table
from dpaudit.prover.values.prove import PrivacyClaim, ValuesProof, prove_values
from dpaudit.suite.attempts import program_files

__all__ = ["proof_of"]


def proof_of(
    program: Callable[..., Any], claim: PrivacyClaim, data: Records | Table, *, files: Sequence[str] = ()
) -> ValuesProof:
    """Return the proof of ``program``. ``files`` are followed too."""
    return prove_values(program, claim, data=data, files=[*program_files(), *files], seconds=60)

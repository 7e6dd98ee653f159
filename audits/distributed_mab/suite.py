"""Chowdhury, Zhou: "Distributed Differential Privacy in Multi-Armed Bandits" (ICLR 2023).

Every claim of the paper as printed. Each refuted claim has a repaired variant. Each file has one group of
claims.
"""

from audits.distributed_mab.rows import (
    accounting,
    aggregate_divergences,
    aggregate_privacy,
    communication,
    concentration,
    divergence_protocols,
    elimination_event,
    elimination_regret,
    elimination_steps,
    encoding,
    errors,
    experiments,
    lost_messages,
    lower_bounds,
    mutants,
    noise,
    protocols,
    proved,
    regret_corners,
    regret_orderings,
    regret_rates,
    returning_users,
    shuffle,
    small_protocols,
    tails,
)
from dpaudit.core.suite import Suite

__all__ = ["suite"]

suite = Suite(
    paper="distributed_mab",
    title="Distributed Differential Privacy in Multi-Armed Bandits",
    reference="Chowdhury, Zhou, ICLR 2023, arXiv 2206.05772",
)

suite.include(noise.rows, tails.rows, concentration.rows, errors.rows)
suite.include(aggregate_privacy.rows, aggregate_divergences.rows, accounting.rows)
suite.include(protocols.rows, lost_messages.rows, small_protocols.rows, divergence_protocols.rows)
suite.include(proved.rows, returning_users.rows)
suite.include(shuffle.rows)
suite.include(encoding.rows)
suite.include(communication.rows)
suite.include(elimination_event.rows, elimination_steps.rows, elimination_regret.rows)
suite.include(regret_rates.rows, regret_corners.rows, regret_orderings.rows, lower_bounds.rows)
suite.include(experiments.rows)
suite.include(mutants.rows)

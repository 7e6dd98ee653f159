"""What no history of an audit can enter in the code that the algorithms share: refusals of inputs that an
audit does not make, and ways that belong to another use than an audit's.

Whether a line is entered, or a condition comes out one way, may depend on data; here it depends on public
parameters alone, each with its reason.
"""

from __future__ import annotations

__all__ = ["FULL_INFORMATION", "GAME", "PARTICIPATION", "PROTOCOL", "TREE"]

_SIZES = "refuses a table of rewards or a pull of another size: sizes are public"
_ARMS = "refuses an arm that is not there: arms are numbered by the strategy, from 0 to K - 1"

#: Playing against a table of potential outcomes.
GAME = {
    "Clock.__init__ (raise)": _SIZES,
    "Clock._advance (raise)": _SIZES,
    "Clock._check_arm (raise)": _ARMS,
    "checked_rewards (raise)": "refuses data outside the domain, which no neighbour of the audit is",
    "play (raise)": "refuses a strategy that stops before the horizon: none here does, whatever it is sent",
    "play (branch)": "many runs at once, which no audit makes; whether a pull is open-ended is public",
    "_Journal.close (branch)": "a game of no rounds, which an environment refuses",
}

#: Full information: the same code for many runs at once.
FULL_INFORMATION = {
    "epochs.run (branch)": "many runs at once, which no audit makes",
    "_argmax (branch)": "many runs at once, which no audit makes",
}

#: The counters' public parameters.
TREE = {
    "TreeCounter.__init__ (raise)": "refuses a negative number of levels, a public parameter",
    "TreeCounter.add (raise)": "refuses a leaf too many: how many come is set by the rounds",
    "node_scale (raise)": "refuses an unknown variant, a public parameter",
}

#: The protocols' public parameters, and what cannot happen to an aggregate.
PROTOCOL = {
    "BatchProtocol.__call__ (raise)": "refuses a batch of another size: sizes and participation are public",
    "Elimination.__init__ (raise)": "refuses a failure probability of 0, a public parameter",
    "_growth (raise)": "refuses batches that do not grow, a public parameter",
    "_polya (branch)": "another budget for the noise than for the margin, a public parameter",
    "_scale_factor (raise)": "refuses a scale that is no number from 1 up, a public parameter",
    "_tail (raise)": "refuses a tail probability of 0, a public parameter",
    "_whole (raise)": "refuses a number of users that is none: sizes are public",
    "ceiling (raise)": "refuses a margin too near to an integer, a public number",
    "decoded_sum (raise)": "refuses an aggregate outside 0, ..., m - 1, which no sum modulo m is",
    "decoded_sum (branch)": "many runs at once, which no audit makes",
    "encode (raise)": "refuses rewards off the declared grid, which no neighbour of the audit has",
    "rounded_up_root (raise)": "refuses a number of users that is none: sizes are public",
    "rounded_up_root (branch)": "whether ε² n is a square, a public number",
    "split_reward (raise)": "refuses rewards outside the domain, which no neighbour of the audit has",
    "total_noise (raise)": "refuses shares without a closed form, a public parameter",
    "variant.sheet (branch)": "another probability for the margin, a public parameter",
}

#: Who turns up is a public parameter: with everybody present nobody is left out.
PARTICIPATION = {
    "strategy.run (branch)": "who turns up is a public parameter: in other rows some users do not",
    "_heard (branch)": "who turns up is a public parameter: in other rows some users do not",
}

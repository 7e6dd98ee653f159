"""Claims about mechanisms, as frozen values with exact parameters.

A privacy claim holds everything that its truth depends on: adjacency, domain of a record, unit, view,
adversary, participation and model. ``quantity`` names the number that the claim bounds (such as epsilon), and
``bound`` is the claimed value.
"""

from dpaudit.core.claims.accounting import (
    Accounting,
    AccountingClaim,
    ConcentratedAccounting,
    GaussianAccounting,
    RenyiAccounting,
)
from dpaudit.core.claims.base import Adjacency, Adversary, Claim, Model, Unit, claim_from_json
from dpaudit.core.claims.privacy import (
    ApproxDP,
    GaussianDP,
    PrivacyClaim,
    Profile,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpaudit.core.claims.stability import Stability
from dpaudit.core.claims.statements import (
    Controls,
    ErrorRate,
    LowerBound,
    MessageSize,
    Ordering,
    RegretBound,
    RegretRate,
    SameDistribution,
    Statement,
    SubExponential,
    SubGaussian,
    TailBound,
    Unbuilt,
)

__all__ = [
    "Accounting",
    "AccountingClaim",
    "Adjacency",
    "Adversary",
    "ApproxDP",
    "Claim",
    "ConcentratedAccounting",
    "Controls",
    "ErrorRate",
    "GaussianAccounting",
    "GaussianDP",
    "LowerBound",
    "MessageSize",
    "Model",
    "Ordering",
    "PrivacyClaim",
    "Profile",
    "PureDP",
    "RegretBound",
    "RegretRate",
    "RenyiAccounting",
    "RenyiDP",
    "SameDistribution",
    "Stability",
    "Statement",
    "SubExponential",
    "SubGaussian",
    "TailBound",
    "Unbuilt",
    "Unit",
    "ZeroConcentratedDP",
    "claim_from_json",
]

"""The one false-failure rate of the whole test suite: the chance that a correct program fails one statistical
test."""

FALSE_FAILURE_RATE = 1e-6

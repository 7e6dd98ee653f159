"""Private online learning: bandits, full information, linear contextual bandits; environments and play."""

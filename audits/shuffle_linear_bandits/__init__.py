"""The claims of "Shuffle Private Linear Contextual Bandits" as audit rows, one group a file."""

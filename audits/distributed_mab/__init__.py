"""The claims of "Distributed Differential Privacy in Multi-Armed Bandits" as audit rows, one group per
file."""

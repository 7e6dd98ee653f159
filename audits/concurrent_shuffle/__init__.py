"""The claims of "Concurrent Shuffle Differential Privacy Under Continual Observation" as audit rows, one
group a file."""

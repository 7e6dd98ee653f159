"""Claims of "Shuffle and Joint Differential Privacy for Generalized Linear Contextual Bandits" as rows."""

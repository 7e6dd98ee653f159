"""What all other rooms use: claims, views, data declarations, exact numbers, evidence, verdicts and
errors."""

"""Types that all other packages use: claims, views, data, exact numbers, evidence, verdicts and errors."""

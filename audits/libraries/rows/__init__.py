"""The packages: five large packages, packages about local privacy, and small packages."""

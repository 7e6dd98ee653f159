"""The packages: five large ones, those about local privacy, and small ones."""

"""Solvers of harmonic systems; `harmonic.solution` and `harmonic.folds` are their door."""

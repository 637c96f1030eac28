"""Solvers of max-margin problems; `margin.training` is their door."""

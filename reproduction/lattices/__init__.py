"""Figures 1 and 2: two lattices with one label each."""

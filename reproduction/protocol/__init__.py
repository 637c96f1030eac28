"""Readings of what the paper does not say, compared with its numbers."""

"""What the paper does not say, and which reading of it comes closest to its numbers."""

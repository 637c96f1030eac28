"""Figure 4: test errors on pairs of classes of UCI tables."""

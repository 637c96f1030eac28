"""Figure 3: the threshold eps, as a function of gamma_g, and the bounds of the theory."""

"""A comparison of nonlinear kernels (Li)."""

"""Linearized GMM kernels and normalized random Fourier features (Li)."""

"""Binary embedding and optimized random Fourier features."""

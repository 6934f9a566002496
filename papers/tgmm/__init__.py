"""Theory of the GMM kernel (Li, Zhang)."""

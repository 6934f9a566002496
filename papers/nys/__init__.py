"""Nystrom method for approximating the GMM kernel (Li)."""

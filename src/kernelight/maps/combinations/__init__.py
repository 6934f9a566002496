"""Maps made of other maps: `Product` for products of kernels, `Concat` for their sums."""

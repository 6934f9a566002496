"""Maps made of other maps: `ProductMap` for products of kernels, `Concat` for their sums."""

"""Partition kernels: the fraction of partitions in which two rows fall into the same cell."""

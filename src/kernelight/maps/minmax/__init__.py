"""Min-max hashing (`GCWS`): codes that agree with the probability that is the min-max kernel."""

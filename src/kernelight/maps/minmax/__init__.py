"""Min-max hashing: rows to codes that agree with the probability that is their min-max kernel
(`GCWS`)."""

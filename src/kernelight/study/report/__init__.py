"""The report: a study as one HTML file that needs nothing else."""

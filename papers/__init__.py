"""The tables and figures of five papers, computed again: `python papers/run.py --help`."""

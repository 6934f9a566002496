"""This folder is on the path of every test, so that all may use `helpers` and the twins in `oracles`.

Which is all this file does: pytest adds the folder of a conftest.
"""

"""This folder is on the path of every test, so that all may use `helpers` and the twins in
`oracles`.

pytest adds the folder of a conftest.
"""

from hypothesis import settings

# The same examples every time, and no clock: a busy machine must not fail a test.
settings.register_profile("house", deadline=None, derandomize=True)
settings.load_profile("house")

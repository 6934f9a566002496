"""Settings of every test.

pytest puts the folder of a conftest on the path, so all tests may import `helpers` and the twins
in `oracles`.
"""

import os

from hypothesis import settings

# One thread of BLAS in each process, set before NumPy is loaded: the matrices of tests are small,
# and threads that wait for work by spinning take more time than the work. The core has threads of
# its own, which this leaves alone.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# The same examples every time, and no clock: a busy machine must not fail a test.
settings.register_profile("house", deadline=None, derandomize=True)
settings.load_profile("house")

"""Settings of every test.

pytest puts the folder of a conftest on the path, so all tests may import `helpers` and the twins
in `oracles`.
"""

import os

from hypothesis import settings

# Set before NumPy and scikit-learn are loaded: one thread of BLAS in each process, and threads of
# OpenMP that sleep while they wait. The data of tests are small, and threads that wait for work by
# spinning take more time than the work. The core has threads of its own, which this leaves alone.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# The same examples every time, and no clock: a busy machine must not fail a test.
settings.register_profile("house", deadline=None, derandomize=True)
settings.load_profile("house")

SHARING = ("tests/report/", "tests/unit/study/")


def pytest_collection_modifyitems(items):
    """Put files first whose tests share a fixture that takes seconds.

    A process that is done early takes tests from the end of another's list, and would make the
    fixture again.
    """
    items.sort(key=lambda item: not item.nodeid.startswith(SHARING))

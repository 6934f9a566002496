"""Print the oldest versions that the package allows, as constraints of pip.

They are those of pyproject.toml: of what the package needs, of the extras of users, and of the
frames that it takes. What only tests need is left to pip.

    python tools/oldest.py > constraints.txt
"""

import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EXTRAS = ("io", "plots", "search", "onnx", "spark")
FRAMES = ("pandas", "polars")

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"]
lines = [*project["dependencies"], *(line for name in EXTRAS for line in extras[name])]
lines += [line for line in extras["test"] if line.startswith(FRAMES)]
oldest = dict(re.findall(r"^([\w-]+)(?:\[\w+\])?>=([\d.]+)", line)[0] for line in lines)
for name, version in sorted(oldest.items()):
    print(f"{name}=={version}{'' if '.' in version else '.0'}.*")

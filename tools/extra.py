"""Print the requirements of an extra of the installed package.

They can then be installed without building the package again.

    python tools/extra.py test
"""

import sys
from importlib.metadata import requires

for requirement in requires("kernelight") or []:
    name, _, condition = requirement.partition(";")
    if condition.replace("'", '"').strip() == f'extra == "{sys.argv[1]}"':
        print(name.strip())

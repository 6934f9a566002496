#!/bin/sh
# Run the tests with the oldest versions that pyproject.toml allows, of Python and of what is needed.
#
#     tools/test_oldest.sh [PYTHON]
#
# Without a PYTHON it is 3.10 where that is found, on the path or in pyenv's folder, else python3. The
# package is installed as users have it, so the tests run from a copy of their folder.
set -eu
python=${1:-}
if [ -z "$python" ]; then
    for python in python3.10 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.10.*/bin/python python3; do
        if "$python" -c 'import venv, ensurepip' 2>/dev/null; then break; fi
    done
fi
work=$PWD/build/oldest
mkdir -p "$work"
"$python" -m venv --clear "$work/venv"
bin=$work/venv/bin
if ! "$bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    "$bin/python" -m pip install -q tomli
fi
"$bin/python" tools/oldest.py >"$work/constraints.txt"
echo "== $("$bin/python" --version), and" $(tr '\n' ' ' <"$work/constraints.txt")
"$bin/python" -m pip install -q -c "$work/constraints.txt" --config-settings build-dir="$work/core" ".[io,plots,search,onnx,spark,test]"
"$bin/python" -m pip check
rm -rf "$work/check"
mkdir "$work/check"
# Tests also read what lies beside their folder: sources, documents, links between them. So all that git
# would commit is copied; src is no place that Python imports from there.
git ls-files -z --cached --others --exclude-standard | tar -cf - --null -T - | tar -xf - -C "$work/check"
cd "$work/check"
PATH=$bin:$PATH
export PATH
python -m pytest -n auto --dist worksteal -p no:cacheprovider -m "not nightly" ${TESTS:-tests}

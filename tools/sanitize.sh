#!/bin/sh
# Run border and unit tests against a core built with AddressSanitizer and UBSan.
#
#     tools/sanitize.sh PYTHON [CXX]
#
# TESTS in the environment names other tests than all of these two folders.
#
# The sanitized module is in a copy of the package under build/sanitize, in an environment of its own
# that has the libraries of PYTHON on its path. No .pth file is run in such a path, so the editable
# installation is not seen.
set -eu
python=$1
cxx=${2:-c++}
work=$PWD/build/sanitize
site=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
PATH=$PWD/.venv/bin:$PATH

# The runtime must be loaded before Python, and libstdc++ with it: the runtime wraps the throwing of
# exceptions.
runtime=
for name in libasan.so "libclang_rt.asan-$(uname -m).so" libclang_rt.asan.so; do
    path=$($cxx -print-file-name="$name")
    if [ -z "$runtime" ] && [ -e "$path" ]; then runtime=$path; fi
done
if [ -z "$runtime" ]; then
    echo "The AddressSanitizer runtime of '$cxx' was not found: install it (Debian: g++ brings it)," \
        "or name another compiler with CXX." >&2
    exit 2
fi
preload="$runtime $($cxx -print-file-name=libstdc++.so)"

cmake -S . -B "$work/core" -G Ninja -DKERNELIGHT_SANITIZE=ON -DCMAKE_CXX_COMPILER="$cxx" \
    -DPython_EXECUTABLE="$PWD/.venv/bin/python" >"$work.log" 2>&1 &&
    cmake --build "$work/core" >>"$work.log" 2>&1 || {
    cat "$work.log" >&2
    exit 1
}
rm -rf "$work/package" "$work/venv"
mkdir -p "$work/package"
cp -R src/kernelight "$work/package/"
cp "$work"/core/_core*.so "$work/package/kernelight/"
"$python" -m venv --without-pip "$work/venv"
own=$("$work/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
printf '%s\n%s\n' "$work/package" "$site" >"$own/borrowed.pth"

# Python keeps memory until it ends, so reports of leaks mean nothing.
export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
LD_PRELOAD=$preload "$work/venv/bin/python" - <<'CHECK'
import kernelight._core

assert "sanitize" in kernelight._core.__file__, kernelight._core.__file__
CHECK
# How much memory a call takes cannot be measured here: the sanitizer keeps freed memory aside.
LD_PRELOAD=$preload "$work/venv/bin/python" -m pytest -p no:cacheprovider -n auto --dist worksteal -m "not nightly" \
    ${TESTS:-tests/border tests/unit} \
    --ignore tests/border/test_hash_memory.py --ignore tests/border/test_linear_memory.py \
    --deselect tests/border/test_projection_border.py::test_memory \
    --deselect tests/border/test_npz_stream.py::test_memory_does_not_grow_with_the_file \
    --deselect tests/unit/data/test_data.py::test_a_long_file_is_streamed_in_little_memory

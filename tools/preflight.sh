#!/bin/sh
# Print one sentence about the first thing this machine lacks for a build, or nothing. (make adds the
# full stop.)
#
#     tools/preflight.sh PYTHON [CXX]
python=$1
cxx=$2

say() {
    printf '%s\n' "$1"
    exit 0
}

command -v "$python" >/dev/null 2>&1 ||
    say "Python was not found as '$python': install Python 3.10 or newer (Debian: python3), or name it with PYTHON=/path/to/python"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1 ||
    say "kernelight needs Python 3.10 or newer, but '$python' is older or does not run: install a newer one and name it with PYTHON=/path/to/python"
"$python" -c 'import venv, ensurepip' >/dev/null 2>&1 ||
    say "'$python' cannot make virtual environments: install its venv module (Debian: python3-venv)"

if [ -n "$cxx" ]; then
    command -v "${cxx%% *}" >/dev/null 2>&1 ||
        say "The C++ compiler named by CXX, '$cxx', was not found: install it, or unset CXX to use the one of the system"
else
    for name in c++ g++ clang++; do
        if command -v "$name" >/dev/null 2>&1; then
            cxx=$name
            break
        fi
    done
    [ -n "$cxx" ] ||
        say "No C++ compiler was found (c++, g++ or clang++): install one (Debian: g++), or name it with CXX=/path/to/compiler"
fi
printf '#include <thread>\n' | $cxx -std=c++17 -fsyntax-only -x c++ - >/dev/null 2>&1 ||
    say "The C++ compiler '$cxx' cannot compile C++17 with the standard library: install a complete one (Debian: g++)"

include=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
[ -f "$include/Python.h" ] ||
    say "The header Python.h of '$python' is missing from $include: install Python's development files (Debian: python3-dev)"

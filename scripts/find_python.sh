#!/bin/sh
# Prints the path of the Python to build with: what HOURBELL_PYTHON names, else 3.13, the version of the Lambdas, where
# there is one that really runs (a version manager's shim may be on the path and refuse), else any from 3.11 on.
set -u

runs() { # runs <command> <minimum>: prints its real path when it starts and is new enough
    "$1" -c 'import sys, venv; low = tuple(map(int, sys.argv[1].split("."))); print(sys.executable) if sys.version_info >= low else sys.exit(1)' "$2" 2>/dev/null
}

found_by_uv() {
    command -v uv >/dev/null 2>&1 && uv python find --no-python-downloads --no-project --system 3.13 2>/dev/null
}

if [ -n "${HOURBELL_PYTHON:-}" ]; then
    runs "$HOURBELL_PYTHON" 3.11 && exit 0
    echo "HOURBELL_PYTHON=$HOURBELL_PYTHON does not run, or is older than 3.11." >&2
    exit 1
fi
for candidate in python3.13 "${HOME:-}"/.pyenv/versions/3.13*/bin/python3.13 "$(found_by_uv)"; do
    [ -n "$candidate" ] && runs "$candidate" 3.13 && exit 0
done
for candidate in python3 python3.14 python3.12 python3.11 python; do
    runs "$candidate" 3.11 && exit 0
done
echo "No Python 3.11 or newer was found. Install one (3.13 at best), or name it: HOURBELL_PYTHON=/path/to/python make …" >&2
exit 1

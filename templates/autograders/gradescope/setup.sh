#!/bin/bash
# Gradescope runs this once, as root, while it builds the image.  AUTOGRADER_ROOT and PIP_OPTIONS are for tests.
set -euo pipefail
root=${AUTOGRADER_ROOT:-/autograder}
source=$root/source
export XDG_CACHE_HOME=$root/cache PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 DEBIAN_FRONTEND=noninteractive

# Python 3.11 or later, which older images lack.
find_python() {
    for name in python3.13 python3.12 python3.11 python3; do
        if command -v "$name" >/dev/null &&
            "$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
    return 1
}
if [ -z "${PYTHON:-}" ] && ! PYTHON=$(find_python); then
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends python3.12 python3.12-venv ||
        apt-get install -y -qq --no-install-recommends python3.11 python3.11-venv
    apt-get clean
    rm -rf /var/lib/apt/lists/*
    PYTHON=$(find_python)
fi

"$PYTHON" -m venv "$root/venv"
"$root/venv/bin/pip" install --quiet ${PIP_OPTIONS:-} @GRADER@
# What the first grading would build or unpack is in the image.
"$root/venv/bin/grade" run "$source/warm_up.cu" >/dev/null
chmod -R a+rX "$root/venv" "$root/cache"

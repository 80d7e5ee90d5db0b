#!/bin/bash
# Run once as root on VPL's execution server, in the folder that this file lies in: installs the grader and the lab.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
home=${GRADER_HOME:-/opt/cuda-lab-grader}
mkdir -p "$home"
"${PYTHON:-python3}" -m venv "$home/venv"
"$home/venv/bin/pip" install --quiet ${PIP_OPTIONS:-} @GRADER@
if [ -d "$here/labs" ]; then mkdir -p "$home/labs" && cp -r "$here/labs/." "$home/labs/"; fi
# What the first grading would build or unpack.
printf '#include <cstdio>\n__global__ void k() {}\nint main() { k<<<1, 1>>>(); return cudaDeviceSynchronize(); }\n' >"$home/warm_up.cu"
XDG_CACHE_HOME=$home/cache "$home/venv/bin/grade" run "$home/warm_up.cu" >/dev/null
chmod -R a+rX "$home"

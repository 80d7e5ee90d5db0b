#!/bin/bash
# Moodle's Virtual Programming Lab, «Run» and «Debug»: what is to be mended, as a compiler prints it; no grade.
if [ -f vpl_environment.sh ]; then . ./vpl_environment.sh; fi
{
    echo '#!/bin/bash'
    declare -p VPL_LANG GRADER_HOME 2>/dev/null
    cat <<'END'
home=${GRADER_HOME:-/opt/cuda-lab-grader}
language="@LANGUAGE@"
case ${VPL_LANG:-} in ru*) language=ru ;; en*) language=en ;; esac
export LC_ALL=C.UTF-8
if [ -d "$home/cache" ]; then export XDG_CACHE_HOME=$home/cache; fi
options=(--lab "@LAB@" --lang "$language")
if [ -d "$home/labs" ]; then options+=(--labs "$home/labs"); fi
mkdir -p .submission/work
find . -maxdepth 1 -type f \( -name '*.cu' -o -name '*.cuh' -o -name '*.h' -o -name '*.ipynb' -o -name submission.yaml \) \
    -exec cp {} .submission/work/ \;
cd .submission/work || exit 3
# The student's files are called as the student calls them.
set -o pipefail
"$home/venv/bin/grade" check . "${options[@]}" 2>&1 | sed -e "s|$PWD: ||" -e "s|$PWD/||g" && echo "✓"
END
} >vpl_execution
chmod +x vpl_execution

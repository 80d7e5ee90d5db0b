#!/bin/bash
# Moodle's Virtual Programming Lab, «Evaluate»: this script makes vpl_execution, whose output is the evaluation.
# The grader is installed on the execution server (install.sh); GRADER_HOME is for tests.
if [ -f vpl_environment.sh ]; then . ./vpl_environment.sh; fi
{
    echo '#!/bin/bash'
    declare -p VPL_LANG VPL_GRADEMAX GRADER_HOME 2>/dev/null
    cat <<'END'
home=${GRADER_HOME:-/opt/cuda-lab-grader}
language="@LANGUAGE@"
case ${VPL_LANG:-} in ru*) language=ru ;; en*) language=en ;; esac
export LC_ALL=C.UTF-8
if [ -d "$home/cache" ]; then export XDG_CACHE_HOME=$home/cache; fi
options=(--lab "@LAB@" --lang "$language" --format vpl)
if [ -d "$home/labs" ]; then options+=(--labs "$home/labs"); fi
if [ -n "${VPL_GRADEMAX:-}" ]; then options+=(--out-of "$VPL_GRADEMAX"); fi
mkdir -p .submission/work
find . -maxdepth 1 -type f \( -name '*.cu' -o -name '*.cuh' -o -name '*.h' -o -name '*.ipynb' -o -name submission.yaml \) \
    -exec cp {} .submission/work/ \;
cd .submission/work || exit 3
code=0
said=$("$home/venv/bin/grade" check . "${options[@]}" 2>&1) || code=$?
# The student's file is called as the student calls it.
said=${said#grade: }
said=${said//"$PWD/"/}
said=${said//"$PWD: "/}
# 4: too little was judged for a verdict; what is said has no grade then.
if [ "$code" -le 1 ] || [ "$code" -eq 4 ]; then
    printf '%s\n' "$said"
elif [ "$code" -eq 2 ]; then
    printf 'Comment :=>>- %s\n' "$(printf '%s' "$said" | tr '\n' ' ')"
    echo 'Grade :=>> 0'
else
    # The grader failed: no grade, so that the teacher sees it and nobody loses a point.
    printf 'Comment :=>>- %s\n' "$(printf '%s' "$said" | tr '\n' ' ')"
fi
END
} >vpl_execution
chmod +x vpl_execution

"""`present`: a kernel for the variant was found in the submission."""

from __future__ import annotations

from grader.checks.base import CheckKind, Settings, Verdict, failed, passed
from grader.evidence import Evidence
from grader.i18n import _
from grader.submission.records import Missing


def judge(evidence: Evidence, settings: Settings) -> Verdict:
    """Pass when the variant is bound to a kernel; else say why not and how to name one."""
    binding = evidence.binding
    if not isinstance(binding, Missing):
        kernel = binding.kernel
        return passed(
            _("Found as the kernel {kernel}.").format(kernel=kernel.name), kernel.line, data={"kernel": kernel.name}
        )
    kernel_name = str(binding.data.get("kernel", ""))
    line = binding.data.get("line")
    messages = {
        "no_candidate": _("No kernel for this variant was found."),
        "unbindable": _("The parameters of the kernel {kernel} do not fit this task."),
        "empty": _("The kernel {kernel} has an empty body."),
    }
    hints = {
        "no_candidate": _(
            "Give the kernel a name that says which variant it is, or name it in submission.yaml: "
            "labs: {{{lab}: {{variants: {{{variant}: name_of_the_kernel}}}}}}"
        ),
        "unbindable": _(
            "A kernel of this task takes {parameters}. Where the order of your parameters is unusual, say it in "
            "submission.yaml."
        ),
        "empty": _("Write the kernel's body: the starter file only shows what it must be called."),
    }
    parameters = ", ".join(p.name for p in evidence.lab.parameters)
    words = {
        "kernel": kernel_name,
        "lab": evidence.lab.id,
        "variant": evidence.variant.name,
        "parameters": parameters,
    }
    reason = binding.reason if binding.reason in messages else "no_candidate"
    return failed(
        messages[reason].format(**words),
        hints[reason].format(**words),
        line=line if isinstance(line, int) else None,
        data={"reason": reason, "kernel": kernel_name or None},
    )


CHECK = CheckKind("present", judge)

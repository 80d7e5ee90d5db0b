"""`present`: a kernel for the variant was found in the submission."""

from __future__ import annotations

from collections.abc import Mapping

from grader.checks.base import CheckKind, Settings, Verdict, failed, passed
from grader.i18n import _, ngettext
from grader.running.evidence import Evidence
from grader.submission.records import Missing


def judge(evidence: Evidence, settings: Settings) -> Verdict:
    """Pass when the variant is bound to a kernel; else say why not and how to name one."""
    binding = evidence.binding
    if not isinstance(binding, Missing):
        kernel = binding.kernel
        return passed(
            _("Found as the kernel {kernel}.").format(kernel=kernel.name), kernel.line, data={"kernel": kernel.name}
        )
    data = binding.data
    line = data.get("line")
    verdict = {"unbindable": _unbindable, "empty": _empty}.get(binding.reason, _no_candidate)
    message, hint = verdict(evidence, data)
    return failed(message, hint, line if isinstance(line, int) else None, data={"reason": binding.reason} | dict(data))


def _no_candidate(evidence: Evidence, data: Mapping[str, object]) -> tuple[str, str]:
    kernels = data.get("kernels")
    found = ", ".join(str(k) for k in kernels) if isinstance(kernels, list) else ""
    message = _("No kernel for this variant was found.")
    if found:
        message += " " + _("The file has: {kernels}.").format(kernels=found)
    return message, _(
        "Give the kernel a name that says which variant it is, or name it in submission.yaml: "
        "labs: {{{lab}: {{variants: {{{variant}: name_of_the_kernel}}}}}}"
    ).format(lab=evidence.lab.id, variant=evidence.variant.name)


def _unbindable(evidence: Evidence, data: Mapping[str, object]) -> tuple[str, str]:
    if data.get("detail") == "parameter":
        message = _("The kernel {kernel} has a parameter {type} {parameter}, which this task does not know.").format(
            kernel=data.get("kernel"), type=data.get("type"), parameter=data.get("parameter")
        )
    elif data.get("detail") == "pointers":
        got = int(str(data.get("got")))
        message = ngettext(
            "The kernel {kernel} takes {got} array; this task has {expected}.",
            "The kernel {kernel} takes {got} arrays; this task has {expected}.",
            got,
        ).format(kernel=data.get("kernel"), got=got, expected=data.get("expected"))
    else:
        message = _("The parameters of the kernel {kernel} do not fit this task.").format(kernel=data.get("kernel"))
    hint = _(
        "A kernel of this task takes {parameters}; the sizes may be left out. Where the order of your parameters is "
        "unusual, say it in submission.yaml."
    ).format(parameters=", ".join(p.name for p in evidence.lab.parameters))
    return message, hint


def _empty(evidence: Evidence, data: Mapping[str, object]) -> tuple[str, str]:
    return (
        _("The kernel {kernel} has an empty body.").format(kernel=data.get("kernel")),
        _("Write the kernel's body: the starter file only shows what it must be called."),
    )


CHECK = CheckKind("present", judge)

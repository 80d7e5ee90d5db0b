"""One kernel, what its parameters are taken to mean, and what the host code says of its launch."""

from __future__ import annotations

from dataclasses import dataclass

from grader.lab import formula
from grader.lab.records import Lab, LaunchRule, Variant
from grader.submission.binding.launch.grids import THE_SIZE
from grader.submission.binding.sizes import NamedSizes, OwnSizes
from grader.submission.expressions.nodes import Expression
from grader.submission.files.submission_yaml import VariantSettings
from grader.submission.kernels.records import Kernel, LaunchSite
from grader.submission.kernels.shape import KernelShape
from grader.submission.kernels.symbolic import formula_of, named_constants
from grader.submission.records import Origin


@dataclass(frozen=True, slots=True)
class LaunchContext:
    """What a launch plan is made of, for one assignment of roles.

    site: what the host code says, where it says anything usable.  roles: one for each parameter.
    """

    kernel: Kernel
    shape: KernelShape
    site: LaunchSite | None
    roles: tuple[str, ...]
    settings: VariantSettings
    variant: Variant
    lab: Lab
    sizes: NamedSizes

    @property
    def own(self) -> OwnSizes:
        """The program's own sizes."""
        return OwnSizes(self.kernel, self.roles, self.site, self.sizes, self.lab)

    @property
    def rule(self) -> LaunchRule:
        """How the lab launches the variant."""
        return self.lab.launch_of(self.variant)

    @property
    def said(self) -> Origin:
        """How what the host code says is known."""
        return "observed" if self.site is not None and self.site.observed else "read"

    @property
    def arguments(self) -> int:
        """Parameters that the host code hands in: global arrays come before them."""
        return sum(not p.is_global for p in self.kernel.parameters)

    def formula(self, expression: Expression | None, over: str = "", *, top: bool = True) -> str | None:
        """A host expression as a formula of the sizes.

        over: the size that is meant by a variable which is handed in for several, as by `n` in `k<<<…>>>(a, b, n, n)`.
        """
        constants = self.shape.constants
        by_name = {name: role for role, name in self.sizes.constants}
        if self.site is not None and len(self.site.arguments) == self.arguments:
            own = self.roles[len(self.roles) - self.arguments :]
            sizes = [(t, r) for t, r in zip(self.site.arguments, own, strict=True) if r in self.lab.size_names]
            by_name |= dict(sizes) | {text: role for text, role in sizes if role == over}
        if over in self.lab.size_names:
            by_name |= {THE_SIZE.name: over}
        if self.site is not None:
            by_name |= {
                t: role for t, (_n, role) in zip(self.site.template_texts, self.sizes.template, strict=False) if role
            }
        return formula_of(expression, by_name, named_constants(constants), top=top)

    def grid_formula(self) -> tuple[str, ...]:
        """The grid as the host code computes it, where its one axis runs over several sizes."""
        if self.site is None or len(self.site.grid_expressions) != 1:
            return ()
        text = self.formula(self.site.grid_expressions[0])
        return (text,) if text and len(formula.names_of(text)) > 1 else ()

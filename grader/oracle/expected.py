"""A lab's oracle: the inputs of a case and what must come out, computed with NumPy and by no student's code."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from types import ModuleType

import numpy as np
import numpy.typing as npt

from grader.errors import LabError
from grader.i18n import _
from grader.lab.records import Lab, Sizes

Array = npt.NDArray[np.generic]


class Oracle:
    """Inputs and expected outputs by size and element types, each computed once.

    Raises
    ------
    LabError : the oracle's file cannot be run, or what it gives does not fit the lab's parameters.
    """

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._module = _load(lab)
        self._cases: dict[tuple[object, ...], tuple[dict[str, Array], dict[str, Array]]] = {}

    def case(self, sizes: Sizes, dtypes: Mapping[str, str]) -> tuple[dict[str, Array], dict[str, Array]]:
        """Inputs and expected outputs by parameter name; `dtypes` are the element types that the kernel takes.

        The inputs depend on the lab's seed and the sizes alone, so that every grading sees the same ones.
        """
        key = (*sorted(sizes.items()), *sorted(dtypes.items()))
        if key not in self._cases:
            self._cases[key] = self._compute(sizes, dtypes)
        return self._cases[key]

    def other_inputs(self, sizes: Sizes, dtypes: Mapping[str, str]) -> dict[str, Array]:
        """Inputs of the same sizes with other values, where the lab draws them by chance."""
        rng = np.random.default_rng([self._lab.seed, *(sizes[name] for name in self._lab.size_names), 1])
        raw = self._module.inputs(dict(sizes), rng)
        return {name: np.ascontiguousarray(a.astype(dtypes.get(name, a.dtype))) for name, a in raw.items()}

    def expected(self, inputs: Mapping[str, Array], sizes: Sizes, output: str) -> Array:
        """One output for any inputs, as the oracle computes it.  What the oracle raises comes through."""
        result: Array = self._module.expected(dict(inputs), dict(sizes))[output]
        return result

    def _compute(self, sizes: Sizes, dtypes: Mapping[str, str]) -> tuple[dict[str, Array], dict[str, Array]]:
        rng = np.random.default_rng([self._lab.seed, *(sizes[name] for name in self._lab.size_names)])
        try:
            raw = self._module.inputs(dict(sizes), rng)
            inputs = {name: np.ascontiguousarray(a.astype(dtypes.get(name, a.dtype))) for name, a in raw.items()}
            raw = self._module.expected(inputs, dict(sizes))
            outputs = {name: np.ascontiguousarray(a.astype(dtypes.get(name, a.dtype))) for name, a in raw.items()}
        except Exception as error:
            raise LabError(
                _("the oracle failed at {sizes}: {kind}: {error}").format(
                    sizes=dict(sizes), kind=type(error).__name__, error=error
                ),
                self._lab.oracle,
            ) from error
        for parameter in self._lab.parameters:
            if parameter.kind == "size":
                continue
            arrays = inputs if parameter.kind == "input" else outputs
            shape = tuple(sizes[n] if isinstance(n, str) else n for n in parameter.shape)
            if parameter.name not in arrays:
                raise LabError(_("the oracle gives no `{name}`").format(name=parameter.name), self._lab.oracle)
            if arrays[parameter.name].shape != shape:
                got = arrays[parameter.name].shape
                raise LabError(
                    _("`{name}` has shape {got}, the lab says {shape}").format(
                        name=parameter.name, got=got, shape=shape
                    ),
                    self._lab.oracle,
                )
        return inputs, outputs


def _load(lab: Lab) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"oracle_of_{lab.id.replace('-', '_')}", lab.oracle)
    if spec is None or spec.loader is None:
        raise LabError(_("is no Python file"), lab.oracle)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise LabError(f"{type(error).__name__}: {error}", lab.oracle) from error
    for name in ("inputs", "expected"):
        if not callable(getattr(module, name, None)):
            raise LabError(_("has no function `{name}`").format(name=name), lab.oracle)
    return module

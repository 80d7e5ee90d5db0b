"""The launches that predicted times are compared with: which kernels, at which sizes, with which data.

Kernels are those of the labs (references, and the good and bad kernels with their verdicts) and those of
`prediction_kernels.cu`.  Everything is decided here, without a GPU; `time_launches.py` times what `--write` puts into a
folder, and `prediction.py` predicts the same launches.

    python benchmarks/prediction_launches.py --write FOLDER
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
from prediction_blind import blind_launches  # noqa: E402
from prediction_own_launches import Data, Measured, Number, own_launches  # noqa: E402
from prediction_unseen import unseen_launches  # noqa: E402

from grader.compiler.process import CompilerProcess  # noqa: E402
from grader.gpu.bench import compile_references, reference_request  # noqa: E402
from grader.grading.reading import Reading  # noqa: E402
from grader.lab import labs  # noqa: E402
from grader.lab.records import Lab, Sizes  # noqa: E402
from grader.launching.kernel import BoundKernel, Loaded, bound_kernels  # noqa: E402
from grader.launching.programs import Built, ProgramStore  # noqa: E402
from grader.submission.binding.bind import bind  # noqa: E402

OWN = {
    "own": (ROOT / "benchmarks" / "prediction_kernels.cu", own_launches),
    "unseen": (ROOT / "benchmarks" / "prediction_unseen.cu", unseen_launches),
    "blind": (ROOT / "benchmarks" / "prediction_blind.cu", blind_launches),
}
"""Programs of this benchmark by name, and their launches."""
LABS = ("transpose", "matmul", "batch-square", "box-blur")


@dataclass(frozen=True)
class Catalogue:
    """All launches, and the programs that they are of, compiled for an emulator (PTX) and for a GPU (machine code)."""

    launches: Sequence[Measured]
    ptx: Mapping[str, str]
    cubins: Mapping[str, bytes]


def catalogue(architecture: str = "sm_90") -> Catalogue:
    """Every launch, its program compiled."""
    with CompilerProcess() as compiler:
        stores = ProgramStore(compiler, "compute_75"), ProgramStore(compiler, architecture)
        launches: list[Measured] = []
        ptx: dict[str, str] = {}
        cubins: dict[str, bytes] = {}

        def keep(name: str, oldest: Built, newest: Built) -> None:
            ptx[name], cubins[name] = oldest.result.ptx, newest.result.cubin

        for name, (file, launches_of) in OWN.items():
            keep(name, *(store.get_text({file.name: file.read_text("utf-8")}, []) for store in stores))
            launches += launches_of()
        for lab in map(labs.find, LABS):
            for launch, built in [*_references(lab, stores), *_specimens(lab, stores)]:
                keep(launch.program, *built)
                launches.append(launch)
    launches = list({launch.id: launch for launch in launches}.values())
    return Catalogue(launches, ptx, cubins)


# -- labs ------------------------------------------------------------------------------------------------------------

REFERENCE_SIZES: dict[str, list[Sizes]] = {
    "transpose": [{"rows": n, "cols": n} for n in (256, 512, 1024, 2048, 4096, 8192)] + [{"rows": 4096, "cols": 1000}],
    "matmul": [{"n": n} for n in (128, 256, 512, 1024, 2048)],
    "batch-square": [{"n": n, "count": count} for count in (65536, 1000000) for n in (2, 3, 4, 5, 7, 8, 10)],
    "box-blur": [{"count": n, "radius": r} for n in (1 << 16, 1 << 20, 1 << 24) for r in (2, 5)],
}
SPECIMEN_SIZES: dict[str, list[Sizes]] = {
    "transpose": [{"rows": 1024, "cols": 1024}, {"rows": 4096, "cols": 4096}],
    "matmul": [{"n": 256}, {"n": 1024}],
    "batch-square": [{"n": 5, "count": 262144}, {"n": 8, "count": 1000000}],
    "box-blur": [{"count": 1 << 20, "radius": 2}, {"count": 1 << 24, "radius": 2}],
}
LEFT_OUT = (
    # Their threads wait for each other in vain on some device, or go on for ever.
    ["barrier_in_branch", "barrier_in_guard", "return_before_barrier", "fence_never_reached", "turns_among_the_idle"]
)


def _compiled(store: ProgramStore, kernel: BoundKernel, sizes: Sizes) -> tuple[Built, str | None]:
    loaded = kernel.load(store, sizes)
    return loaded.built, loaded.entry


def _name(sizes: Sizes) -> str:
    return "x".join(str(value) for value in sizes.values())


def _references(lab: Lab, stores: tuple[ProgramStore, ProgramStore]) -> Iterator[tuple[Measured, tuple[Built, Built]]]:
    wanted = REFERENCE_SIZES[lab.id]
    compiled = [compile_references(store, lab.variants, wanted) for store in stores]
    for variant in lab.variants:
        oldest, newest = (references[variant.name] for references in compiled)
        for sizes in wanted:
            request = reference_request(lab, newest, sizes)
            yield (
                measured(lab, f"{lab.id}/{variant.name}", f"reference/{lab.id}/{variant.name}", request, _name(sizes)),
                (oldest.built, newest.built),
            )
            for block in _other_blocks(lab, variant.name, request.block):
                if sizes not in (wanted[-1], wanted[2]):
                    continue
                threads = prod(block)
                covered = [sizes[c] for c in lab.launch_of(variant).covers]
                tile = block if len(covered) == 2 else (1,) if variant.name in ("row", "column") else (threads,)
                grid = (*(-(-size // step) for size, step in zip(covered, tile, strict=False)), 1, 1, 1)[:3]
                shared = _shared(lab, variant.name, sizes, threads)
                changed = Measured(
                    f"{lab.id}/{variant.name}/{_name(sizes)}/block {'x'.join(map(str, block[:2]))}",
                    f"{lab.id}/{variant.name}",
                    lab.id,
                    f"reference/{lab.id}/{variant.name}",
                    request.entry,
                    grid,
                    block,
                    shared,
                    _arguments(request.arguments),
                )
                yield changed, (oldest.built, newest.built)


def _other_blocks(lab: Lab, variant: str, usual: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    """Blocks that the reference kernel of a variant works with as well."""
    square = [(8, 8, 1), (16, 16, 1), (32, 4, 1), (32, 8, 1), (32, 32, 1), (64, 4, 1)]
    line = [(t, 1, 1) for t in (32, 64, 128, 256, 512, 1024)]
    blocks = {"transpose": square if variant == "naive" else [], "matmul": square if variant == "naive" else []}
    if variant in ("row", "column", "simple") or lab.id == "box-blur":
        blocks[lab.id] = line
    return [block for block in blocks.get(lab.id, []) if block != usual]


def _shared(lab: Lab, variant: str, sizes: Sizes, threads: int) -> int:
    if variant in ("row", "column"):
        return 4 * sizes["n"]
    return 4 * (threads + 2 * sizes["radius"]) if (lab.id, variant) == ("box-blur", "shared") else 0


def _specimens(lab: Lab, stores: tuple[ProgramStore, ProgramStore]) -> Iterator[tuple[Measured, tuple[Built, Built]]]:
    for kind in ("good", "bad"):
        for file in sorted((ROOT / "tests" / "kernels" / lab.id / kind).glob("*.cu")):
            if file.stem in LEFT_OUT:
                continue
            reading = Reading(file, lab, None)
            submission = bind(reading.submitted, reading.sources, lab)
            for variant, kernel in bound_kernels(lab, submission).items():
                for sizes in SPECIMEN_SIZES[lab.id]:
                    found = _specimen(lab, stores, kernel, f"{kind}/{file.stem}", variant, sizes)
                    if found is not None:
                        yield found


def _specimen(
    lab: Lab, stores: tuple[ProgramStore, ProgramStore], kernel: BoundKernel, name: str, variant: str, sizes: Sizes
) -> tuple[Measured, tuple[Built, Built]] | None:
    if not kernel.sizes.fits(sizes) or min(kernel.geometry(sizes).grid) < 1:
        return None
    (oldest, entry), (newest, _same) = (_compiled(store, kernel, sizes) for store in stores)
    if entry is None or _same is None or entry != _same:
        return None
    request = kernel.launch_without_data(Loaded(newest, entry), sizes)
    if prod(request.block) > 1024 or request.shared_bytes > 227 * 1024:
        return None
    threads = prod(request.block) * prod(request.grid)
    if lab.id == "matmul" and sizes["n"] > 256 and threads * 32 < sizes["n"] ** 2:
        return None
    program = f"{lab.id}/{name}/{'_'.join(str(v) for v in kernel.interpretation.constants) and _name(sizes)}"
    return (
        measured(lab, f"{lab.id}/{name}/{variant}", program, request, _name(sizes), f"{lab.id}/{variant}"),
        (oldest, newest),
    )


def measured(lab: Lab, name: str, program: str, request, sizes: str, family: str = "") -> Measured:  # type: ignore[no-untyped-def]
    """A launch of a lab's kernel, its arrays filled by whether they are read."""
    return Measured(
        f"{name}/{sizes}",
        family or name,
        lab.id,
        program,
        request.entry,
        request.grid,
        request.block,
        request.shared_bytes,
        _arguments(request.arguments),
    )


def _arguments(arguments) -> tuple[Data | Number, ...]:  # type: ignore[no-untyped-def]
    made: list[Data | Number] = []
    for argument in arguments:
        if hasattr(argument, "shape"):
            elements = prod(argument.shape) + argument.start
            wide = np.dtype(argument.dtype).itemsize == 8
            is_set = not argument.is_output and np.dtype(argument.dtype).kind == "f"
            fill = "zero" if not is_set else "unit64" if wide else "unit"
            made.append(Data(elements * (2 if wide and fill == "zero" else 1), fill))
        else:
            made.append(Number(argument.value, argument.dtype))
    return tuple(made)


def write(folder: Path) -> None:
    """Everything that timing the launches takes, as files."""
    made = catalogue()
    write_launches(folder, made.launches, made.cubins)


def write_launches(folder: Path, launches: Sequence[Measured], cubins: Mapping[str, bytes]) -> None:
    """Launches, and the programs that they are of, as `time_launches.py` reads them."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for number, (name, cubin) in enumerate(cubins.items()):
        files[name] = f"{number}.cubin"
        (folder / files[name]).write_bytes(cubin)
    rows = []
    for launch in launches:
        row = asdict(launch)
        row["arguments"] = [
            {
                "elements": a.elements,
                "fill": a.fill,
                "parameter": a.parameter,
                "bytes": a.elements * np.dtype(a.dtype).itemsize,
            }
            if isinstance(a, Data)
            else {"value": a.value, "dtype": a.dtype}
            for a in launch.arguments
        ]
        row["program"] = files[launch.program]
        rows.append(row)
    (folder / "launches.json").write_text(json.dumps(rows), encoding="utf-8")
    print(f"{len(rows)} launches of {len(files)} programs")


def main() -> None:
    """Write the launches."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, required=True)
    write(parser.parse_args().write)


if __name__ == "__main__":
    main()

"""Results made by hand for tests of whatever reads results: reports, terminal table, gradebooks.

The numbers are those that a 32×32 tile really has at 256×256 (lecture and hardware agree on them).
"""

from __future__ import annotations

from grader.measured import Counters, LineCounters
from grader.result import (
    Case,
    Check,
    Environment,
    Hazard,
    Launch,
    Result,
    Source,
    Student,
    Variant,
    score_of,
    status_of,
)

SIZE = {"rows": 256, "cols": 256}

SOURCE_TEXT = """\
#define T 32
__global__ void plain(const float *in, float *out, int rows, int cols) {
    int x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y;
    if (x < cols && y < rows) out[x * rows + y] = in[y * cols + x];
}
__global__ void tiled(const float *in, float *out, int rows, int cols) {
    __shared__ float t[T][T];
    int x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y;
    if (x < cols && y < rows) t[threadIdx.y][threadIdx.x] = in[y * cols + x];
    __syncthreads();
    x = blockIdx.y * T + threadIdx.x, y = blockIdx.x * T + threadIdx.y;
    if (x < rows && y < cols) out[y * rows + x] = t[threadIdx.x][threadIdx.y];
}
"""


def counters(load_ways: int = 1, shared: bool = True, store_sectors: float = 4.0) -> Counters:
    """Counters of a 256×256 transpose with 32×32 threads; the tile's loads have `load_ways`-way conflicts."""
    requests = 2048
    lines = [
        LineCounters(
            line=9,
            space="global",
            op="load",
            requests=requests,
            sectors=4 * requests,
            ideal=4 * requests,
            lanes=32 * requests,
        ),
        LineCounters(
            line=12,
            space="global",
            op="store",
            requests=requests,
            sectors=int(store_sectors * requests),
            ideal=4 * requests,
            lanes=32 * requests,
        ),
    ]
    wavefronts = 0
    if shared:
        wavefronts = requests * (1 + load_ways)
        pitch = 32 if load_ways > 1 else 33
        lines += [
            LineCounters(
                line=9,
                space="shared",
                op="store",
                requests=requests,
                wavefronts=requests,
                ideal=requests,
                unique_bytes=128 * requests,
                lanes=32 * requests,
                lane_words=list(range(32)),
            ),
            LineCounters(
                line=12,
                space="shared",
                op="load",
                requests=requests,
                wavefronts=requests * load_ways,
                ideal=requests,
                ways=load_ways,
                unique_bytes=128 * requests,
                lanes=32 * requests,
                lane_words=[lane * pitch for lane in range(32)],
            ),
        ]
    return Counters(
        size=SIZE,
        shared_requests=2 * requests if shared else 0,
        shared_wavefronts=wavefronts,
        shared_ideal=2 * requests if shared else 0,
        shared_excess=wavefronts - 2 * requests if shared else 0,
        worst_conflict_ways=load_ways if shared else 1,
        shared_efficiency_pct=round(100 * 2 * requests / wavefronts, 2) if shared else None,
        global_load_requests=requests,
        global_load_sectors_per_request=4.0,
        global_load_ideal_per_request=4.0,
        global_store_requests=requests,
        global_store_sectors_per_request=store_sectors,
        global_store_ideal_per_request=4.0,
        by_line=lines,
        thread_instructions=1_900_000,
        sampled_blocks=64,
        total_blocks=64,
    )


def _variant(kernel: str, line: int, end_line: int, counted: Counters, hazards: list[Hazard] | None = None) -> Variant:
    return Variant(
        kernel=kernel,
        file="transpose.cu",
        line=line,
        end_line=end_line,
        launch=Launch(block=(32, 32, 1), origin="submission", tile=[32, 32], line=60),
        cases=[
            Case(size=SIZE, status="pass", max_abs_error=0.0, mismatches=0),
            Case(size={"rows": 33, "cols": 31}, status="pass", kind="ragged", max_abs_error=0.0, mismatches=0),
        ],
        counters=counted,
        hazards=hazards or [],
    )


def _check(variant: str, check: str, points: float, **changes: object) -> Check:
    fields: dict[str, object] = {
        "id": f"{variant}.{check}",
        "variant": variant,
        "check": check,
        "status": "pass",
        "earned": points,
        "possible": points,
        "message": f"{check} holds",
    }
    return Check(**{**fields, **changes})  # type: ignore[arg-type]


def _result(student: Student, variants: dict[str, Variant], checks: list[Check]) -> Result:
    return Result(
        student=student,
        lab="transpose",
        status=status_of(checks),
        score=score_of(checks),
        environment=Environment(
            backend="emulator",
            grader="0.1.0",
            seed=1,
            nvrtc="13.5",
            architecture="compute_75",
            python="3.11.2",
            numpy="2.4.6",
            command="grade submissions/petrova --lab transpose --backend emulator",
        ),
        variants=variants,
        checks=checks,
        sources=[Source(file="transpose.cu", text=SOURCE_TEXT)],
    )


def passed() -> Result:
    """Everything right; speedup not measured, its 20 points pending: 80 of 100 earned, status passed."""
    checks = [
        _check("naive", "correct", 20.0),
        _check("shared", "correct", 20.0),
        _check("padded", "correct", 20.0),
        _check("padded", "bank_conflicts", 20.0, message="no bank conflicts", line=12),
        _check(
            "padded",
            "speedup",
            20.0,
            status="skip",
            earned=0.0,
            pending=20.0,
            skip_reason="not_measured",
            message="not measured: this machine has no NVIDIA GPU",
        ),
    ]
    variants = {
        "naive": _variant("plain", 2, 5, counters(shared=False, store_sectors=32.0)),
        "shared": _variant("tiled", 6, 13, counters(load_ways=32)),
        "padded": _variant("tiled", 6, 13, counters(load_ways=1)),
    }
    return _result(Student(id="ivanov", name="Иванов Иван", group="ИП-211"), variants, checks)


def unjudged() -> Result:
    """A margin of which the task knows nothing leaves all but what there is to compile open: 15 of 80 points judged."""
    margin = {
        "status": "skip",
        "earned": 0.0,
        "pending": 20.0,
        "skip_reason": "not_measured",
        "message": "in the program line 9 works in a margin",
        "hint": "Hand the kernel an array without a margin.",
    }
    waits = {
        "status": "skip",
        "earned": 0.0,
        "pending": 15.0,
        "skip_reason": "not_measured",
        "message": "Not graded: the result could not be checked.",
        "data": {"blocked_by": "correct"},
    }
    checks = [
        _check("shared", "compiles", 5.0),
        _check("shared", "correct", 20.0, **margin),
        _check("shared", "technique", 15.0, **waits),
        _check("padded", "compiles", 5.0),
        _check("padded", "launch", 5.0),
        _check("padded", "correct", 20.0, **margin),
        _check("padded", "technique", 15.0, **waits),
        _check("padded", "speedup", 20.0, **{**waits, "pending": 20.0, "message": "no GPU", "data": {}}),
    ]
    variants = {
        "shared": _variant("tiled", 6, 13, counters(load_ways=32)),
        "padded": _variant("tiled", 6, 13, counters(load_ways=1)),
    }
    return _result(Student(id="orlov", name="Орлов Пётр", group="ИП-211"), variants, checks)


def failed() -> Result:
    """Every status there is but `error`: a missing kernel, a race, a 32-way conflict. Status failed."""
    race = Hazard(
        kind="race",
        line=12,
        message="thread (1, 0, 0) reads what thread (0, 1, 0) writes at line 9, with no barrier between them",
        thread=(1, 0, 0),
        block=(0, 0, 0),
        detail="read_write",
        array="t",
        count=992,
        other_line=9,
        other_thread=(0, 1, 0),
    )
    checks = [
        _check(
            "naive",
            "present",
            10.0,
            status="fail",
            earned=0.0,
            message="no kernel for this variant was found",
            hint="Name the kernel so that it can be recognised, or name it in submission.yaml.",
        ),
        _check(
            "naive",
            "correct",
            10.0,
            status="skip",
            earned=0.0,
            skip_reason="prerequisite",
            message="not run: present failed",
        ),
        _check("shared", "correct", 20.0),
        _check(
            "shared",
            "races",
            10.0,
            status="fail",
            earned=0.0,
            message=race.message,
            hint="Put __syncthreads() after line 9.",
            line=12,
        ),
        _check(
            "shared",
            "ragged_sizes",
            0.0,
            status="skip",
            skip_reason="not_applicable",
            message="the kernel takes no size",
        ),
        _check(
            "padded",
            "bank_conflicts",
            20.0,
            status="fail",
            earned=0.0,
            message="32-way bank conflicts",
            hint="Declare the tile as t[T][T + 1].",
            line=12,
            data={"ways": 32, "excess": 63488},
        ),
        _check("padded", "speedup", 10.0, status="borderline", earned=5.0, message="1.99 where 2 is asked"),
    ]
    variants = {
        "naive": Variant(),
        "shared": _variant("tiled", 6, 13, counters(load_ways=32), [race]),
        "padded": _variant("tiled", 6, 13, counters(load_ways=32)),
    }
    return _result(Student(id="petrova", name="Петрова <script>Анна</script>"), variants, checks)


def errored() -> Result:
    """The emulator met an instruction that it does not know: error, all points pending."""
    checks = [
        _check(
            "naive",
            "correct",
            100.0,
            status="error",
            earned=0.0,
            pending=100.0,
            message="line 4: the emulator does not implement `wmma.load`",
            line=4,
        )
    ]
    return _result(Student(id="smirnov"), {"naive": Variant(kernel="plain", file="transpose.cu", line=2)}, checks)

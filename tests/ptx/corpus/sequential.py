"""Cases of memory.cu, functions.cu, control.cu and output.cu: threads that (mostly) do not look at each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.ptx.corpus.case import Argument, Array, Case, Struct
from tests.ptx.corpus.numbers import BLOCK, COUNT, F32, F64, GRID, I32, N, case, integers

WEIGHTS = np.array([0.0625, 0.25, 0.375, 0.25, 0.0625], F32)
PRIMES = np.array([2, 3, 5, 7, 11, 13, 17, 19])
PARTICLE = np.dtype([("position", "f4", 3), ("mass", "f4"), ("kind", "i4"), ("name", "i1", 5), ("pad", "i1", 3)])


def small(rng: np.random.Generator, count: int = N, high: int = 100) -> Array:
    return rng.integers(0, high, count).astype(I32)


def by_thread(function: Callable[..., int | None]) -> Callable[[Sequence[Any]], dict[int, Array]]:
    """An oracle out of what one thread writes to `out[i]`, from (a, i); None: it writes nothing."""

    def oracle(arguments: Sequence[Any]) -> dict[int, Array]:
        a, out = arguments[0], arguments[1].copy()
        values = a.tolist()
        for i in range(len(out)):
            result = function(values, i)
            if result is not None:
                out[i] = result
        return {1: out}

    return oracle


def vectors(arguments: Sequence[Any]) -> dict[int, Array]:
    a, b, c, s, d = arguments[:5]
    out = np.stack([a[:, 3], a[:, 2], a[:, 1] + b[:, 0], a[:, 0] + b[:, 1]], axis=1)
    pairs = np.stack([s[:, 0] * F32(2), s[:, 1] - F32(1)], axis=1).astype(F32)
    bytes_ = np.stack([c[:, 3], c[:, 2] + 1, c[:, 1] + 2, c[:, 0] ^ 0x55], axis=1).astype(np.uint8)
    wide = np.stack([d[:, 1], d[:, 0] + c[:, 0]], axis=1)
    return {5: out, 6: pairs, 7: bytes_, 8: wide}


def local_array(a: list[int], i: int) -> int:
    stack = sorted(a[(i + k) % N] for k in range(16))
    return stack[a[i] & 15] * 3 + stack[i % 16]


def constants(arguments: Sequence[Any]) -> dict[int, Array]:
    a = arguments[0].astype(F64)
    s = np.zeros(N)
    for k in range(5):
        s += WEIGHTS[k] * a[np.clip(np.arange(N) + k - 2, 0, N - 1)]
    keys, values = np.array([1, -2, 300]), np.array([1.5, 2.5, -3.5])
    third = np.arange(N) % 3
    return {1: (s + values[third] * keys[third]).astype(F32)}


def device_variables(arguments: Sequence[Any]) -> dict[int, Array]:
    i = np.arange(256)
    scratch = i * PRIMES[i & 7]
    return {0: np.append(scratch[::-1] + np.array([5, 7])[i & 1], 100 + 256).astype(I32)}


def generic_pointers(arguments: Sequence[Any]) -> dict[int, Array]:
    a = arguments[0]
    i = np.arange(64)
    result = np.where(i % 3 == 0, (a + F32(1))[::-1], np.where(i % 3 == 1, a[::-1], a * (i & 3).astype(F32)))
    return {1: result.astype(F32)}


def hints(arguments: Sequence[Any]) -> dict[int, Array]:
    a = arguments[0]
    x = (a + a) + a[::-1]
    return {1: x, 2: x + x}


def particles(rng: np.random.Generator) -> list[Argument]:
    a = np.zeros(N, PARTICLE)
    a["position"], a["mass"] = rng.normal(0, 1, (N, 3)), rng.normal(0, 1, N)
    a["kind"], a["name"] = rng.integers(0, 15, N), rng.integers(0, 100, (N, 5))
    return [a.view(np.uint8), np.zeros(N * PARTICLE.itemsize, np.uint8), COUNT]


def array_of_structs(arguments: Sequence[Any]) -> dict[int, Array]:
    a = arguments[0].view(PARTICLE).copy()
    i = np.arange(N)
    a["position"][i, a["kind"] % 3] += a["mass"]
    a["name"][i, a["kind"] % 5] = ord("x")
    return {1: a[::-1].copy().view(np.uint8)}


def matrix_by_value(arguments: Sequence[Any]) -> dict[int, Array]:
    matrix = np.array([float(v) for v in arguments[0].members]).reshape(4, 4)
    r = arguments[1].astype(F64) @ matrix.T
    k = (np.arange(4)[None, :] + np.arange(N)[:, None]) & 3
    return {1: np.take_along_axis(r, k, axis=1).astype(F32)}


def square_plus(x: int, y: int) -> int:
    return x * x + y


def fibonacci(n: int) -> int:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def ackermann(m: int, n: int) -> int:
    if m == 0:
        return n + 1
    return ackermann(m - 1, 1 if n == 0 else ackermann(m, n - 1))


def recursion(arguments: Sequence[Any]) -> dict[int, Array]:
    a = arguments[0].tolist()
    first = [fibonacci(x & 7) for x in a]
    second = [ackermann(x % 3, i & 3) for i, x in enumerate(a)]
    return {1: np.array([first, second, [x & 15 & 1 ^ 1 for x in a]], I32)}


def collatz(a: list[int], i: int) -> int:
    x, steps = a[i], 0
    while x > 1:
        x = 3 * x + 1 if x & 1 else x >> 1
        steps += 1
        if steps == 1000:
            break
    return steps


def toward_zero(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def dense_switch(a: list[int], i: int) -> int | None:
    x = a[i]
    branch = x & 15
    if branch == 9:
        return None
    choices: dict[int, Callable[[], int]] = {
        0: lambda: x * 3,
        1: lambda: x - 7,
        2: lambda: x ^ 0x55,
        3: lambda: toward_zero(x, 3),
        4: lambda: toward_zero(x, 3),
        5: lambda: ~x,
        6: lambda: a[(i + 1) % N],
        7: lambda: x - 11 * toward_zero(x, 11),
        8: lambda: x & 0xF0,
    }
    return choices.get(branch, lambda: -1)()


def breaks(a: list[int], i: int) -> int:
    found, skipped = -1, 0
    for k in range(N):
        x = a[(i + k) % N]
        if x % 3 == 0:
            skipped += 1
            continue
        if x % 7 == 0:
            found = k
            break
        if x == 1000003:
            return -5
        skipped += sum(range(x % 4))
    return found * 100 + skipped


def gotos(a: list[int], i: int) -> int:
    x, rounds = a[i], 0
    while True:
        while x > 100:
            x = x // 2 - 1
            rounds += 1
        if not x & 1:
            break
        x += 5
        rounds += 1
        if rounds >= 9:
            break
    return x * 16 + rounds


def short_circuit(a: list[int], i: int) -> int:
    x, before = a[i], a[i - 1]
    if i > 0 and (x > before or (x % 2 == 0 and before % 3 == 0)) and x != 5:
        return 1
    return (2 if x < 20 else 3) if x < 50 else 4


def triangular(a: list[int], i: int) -> int:
    total = 0
    for k in range(i + 1):
        j = k
        while j > 0:
            total += a[j] ^ k
            j >>= 1
    return total


def guarded_asm(arguments: Sequence[Any]) -> dict[int, Array]:
    x = arguments[0]
    return {1: np.concatenate([np.where(x > 50, 1, x + 100), np.where(x < 30, 7, 9)]).astype(I32)}


def lambdas(a: list[int], i: int) -> int:
    return a[i] - (1 + (i & 3)) * a[0]


def struct_results(a: list[int], i: int) -> int:
    part = a[i : i + 5]
    return max(part) - min(part) + sum(part)


def clocks(arguments: Sequence[Any]) -> dict[int, Array]:
    i = np.arange(64)
    return {0: np.stack([sum(k ^ i for k in range(64)), np.ones(64)]).astype(I32)}


def in_out(dtype: Any = I32, rows: int = 1, high: int = 100) -> Callable[[np.random.Generator], list[Argument]]:
    """Small integers in, as many zeros times `rows` out, and the count."""

    def make(rng: np.random.Generator) -> list[Argument]:
        shape: Any = N if rows == 1 else (rows, N)
        return [small(rng, high=high).astype(dtype), np.zeros(shape, dtype), COUNT]

    return make


def _struct_argument(rng: np.random.Generator) -> list[Argument]:
    source, target = rng.normal(0, 1, (20, 30)).astype(F32), np.zeros((30, 20), F32)
    return [Struct((Struct((source, I32(20), I32(30))), Struct((target, I32(30), I32(20))), F32(1.5)))]


CASES = [
    case(
        "memory.cu",
        "vectors",
        lambda rng: [
            rng.normal(0, 1, (N, 4)).astype(F32),
            rng.normal(0, 1, (N, 2)).astype(F32),
            rng.integers(0, 256, (N, 4)).astype(np.uint8),
            rng.integers(-999, 999, (N, 2)).astype(np.int16),
            rng.normal(0, 1, (N, 2)),
            np.zeros((N, 4), F32),
            np.zeros((N, 2), F32),
            np.zeros((N, 4), np.uint8),
            np.zeros((N, 2), F64),
            COUNT,
        ],
        vectors,
    ),
    case("memory.cu", "local_array", in_out(), by_thread(local_array)),
    case("memory.cu", "constants", lambda rng: [small(rng, high=64).astype(F32), np.zeros(N, F32), COUNT], constants),
    case(
        "memory.cu",
        "device_variables",
        lambda rng: [np.zeros(257, I32), I32(256)],
        device_variables,
        grid=(1,),
        block=(256,),
        race_free=False,
    ),
    case(
        "memory.cu",
        "struct_argument",
        _struct_argument,
        lambda a: {1: (F32(1.5) * a[0].members[0].members[0]).T.copy()},
    ),
    case(
        "memory.cu",
        "generic_pointers",
        lambda rng: [rng.normal(0, 1, 64).astype(F32), np.zeros(64, F32), I32(64)],
        generic_pointers,
        grid=(1,),
        block=(64,),
    ),
    case(
        "memory.cu",
        "hints",
        lambda rng: [rng.normal(0, 1, N).astype(F32), np.zeros(N, F32), np.zeros(N, F32), COUNT],
        hints,
    ),
    case("memory.cu", "array_of_structs", particles, array_of_structs),
    case(
        "memory.cu",
        "matrix_by_value",
        lambda rng: [
            Struct(tuple(F32(v) for v in rng.integers(-9, 9, 16))),
            rng.integers(-9, 9, (N, 4)).astype(F32),
            np.zeros((N, 4), F32),
            COUNT,
        ],
        matrix_by_value,
    ),
    case(
        "functions.cu",
        "calls",
        in_out(),
        by_thread(lambda a, i: square_plus((square_plus(a[i], i) if a[i] & 1 else square_plus(i, a[i]) + 1) & 0xFF, 3)),
    ),
    case("functions.cu", "recursion", in_out(rows=3), recursion),
    case(
        "functions.cu", "function_pointers", in_out(), by_thread(lambda a, i: (a[i] + i, a[i] - i, a[i] * i)[a[i] % 3])
    ),
    case(
        "functions.cu",
        "virtual_calls",
        lambda rng: [small(rng).astype(F32), np.zeros(N, F32), COUNT],
        lambda a: {1: a[0] * a[0] * np.where(np.arange(N) % 2, F32(1), F32(3))},
    ),
    Case(
        "template_functor",
        "functions.cu",
        "_Z3mapIf6AffineEvPKT_PS1_iT0_",
        GRID,
        BLOCK,
        lambda rng: [small(rng).astype(F32), np.zeros(N, F32), COUNT, Struct((F32(3), F32(0.5)))],
        lambda a: {1: a[0] * F32(3) + F32(0.5)},
    ),
    case(
        "functions.cu",
        "templates",
        in_out(),
        by_thread(lambda a, i: sum(a[i : i + 8]) - sum(a[i : i + 3]) if i + 8 <= N else None),
    ),
    case("functions.cu", "lambdas", in_out(), by_thread(lambdas)),
    case("functions.cu", "struct_results", in_out(), by_thread(struct_results)),
    case("control.cu", "collatz", in_out(), by_thread(collatz)),
    case(
        "control.cu",
        "dense_switch",
        lambda rng: [integers(rng, I32) >> 8, np.zeros(N, I32), COUNT],
        by_thread(dense_switch),
    ),
    case("control.cu", "breaks", in_out(), by_thread(breaks)),
    case(
        "control.cu",
        "binary_search",
        lambda rng: [np.sort(small(rng)), small(rng), np.zeros(N, I32), COUNT, COUNT],
        lambda a: {2: np.searchsorted(a[0], a[1]).astype(I32)},
    ),
    case(
        "control.cu",
        "gcd",
        lambda rng: [small(rng), small(rng), np.zeros(N, I32), COUNT],
        lambda a: {2: np.gcd(a[0], a[1])},
    ),
    case("control.cu", "gotos", in_out(high=100_000), by_thread(gotos)),
    case("control.cu", "short_circuit", in_out(), by_thread(short_circuit)),
    case("control.cu", "triangular", in_out(), by_thread(triangular)),
    case("control.cu", "grid_stride", in_out(), lambda a: {1: a[0] * 2 + 1}, grid=(3,), block=(70,)),
    case("control.cu", "guarded_asm", in_out(rows=2), lambda a: {1: guarded_asm(a)[1].reshape(2, N)}),
    case("output.cu", "clocks", lambda rng: [np.zeros((2, 64), I32), I32(64)], clocks, grid=(1,), block=(64,)),
    case(
        "output.cu",
        "wait",
        lambda rng: [np.zeros(1, I32), I32(100_000)],
        lambda a: {0: np.ones(1, I32)},
        grid=(1,),
        block=(1,),
    ),
    case(
        "output.cu",
        "prints",
        lambda rng: [np.zeros(1, I32)],
        lambda a: {0: np.array([10], I32)},
        grid=(1,),
        block=(32,),
    ),
]

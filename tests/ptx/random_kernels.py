"""Random kernels with nested ifs, loops, breaks and barriers, and the same programs in Python, thread by thread."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

MASK = 0xFFFFFFFF
Thread = Callable[[int, int, list[int], list[int], list[int]], Iterator[None]]


class Program:
    """A kernel `k(const unsigned* a, unsigned* out)` for blocks of `threads`, race-free, made from a seed.

    source: in CUDA C++.  thread: the same as a generator (thread, block, a, out, shared) that yields at barriers.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.threads = self._random.choice([32, 33, 40, 64, 96])
        self._cuda: list[str] = []
        self._python: list[str] = []
        self._loops = 0
        self._counter = ""
        for _ in range(3):
            self._block(1, uniform=True, loop="")
        head = f"#define M {MASK}u\n" + 'extern "C" __global__ void k(const unsigned* a, unsigned* out) {\n'
        head += f"  __shared__ unsigned s[{self.threads}];\n  unsigned t = threadIdx.x, b = blockIdx.x;\n"
        head += "  unsigned x = t * 7 + b, y = a[t & 63];\n"
        tail = f"  out[b * {self.threads} + t] += x ^ y;\n}}\n"
        self.source = head + "\n".join(self._cuda) + "\n" + tail
        lines = ["def thread(t, b, a, out, s):", "  x = t * 7 + b; y = a[t & 63]", *self._python]
        lines += [f"  out[b * {self.threads} + t] = out[b * {self.threads} + t] + (x ^ y) & M", "  if 0: yield"]
        names: dict[str, object] = {"M": MASK}
        exec("\n".join(lines), names)
        self.thread: Thread = names["thread"]  # type: ignore[assignment]

    def expected(self, blocks: int, a: list[int]) -> list[int]:
        """What `out`, zeros at first, holds in the end."""
        out = [0] * (blocks * self.threads)
        for block in range(blocks):
            shared = [0] * self.threads
            running = [self.thread(t, block, a, out, shared) for t in range(self.threads)]
            while running:
                # A round takes every thread to its next barrier.
                running = [thread for thread in running if next(thread, "ended") != "ended"]
        return out

    def _both(self, depth: int, cuda: str, python: str) -> None:
        self._cuda.append("  " * depth + cuda)
        self._python.append("  " * depth + python)

    def _expression(self, depth: int = 0) -> str:
        """Valid in both languages; below 2^32 in both."""
        pick = self._random
        kind = pick.randrange(8)
        if depth > 1 or kind < 3:
            return pick.choice(["x", "y", "t", self._counter or "b", str(pick.randrange(1, 9))])
        left, right = self._expression(depth + 1), self._expression(depth + 1)
        if kind < 6:
            return f"({left} {pick.choice('+^*&|')} {right} & M)"
        return f"a[{left} & 63]" if kind == 6 else f"({left} >> {pick.randrange(1, 5)})"

    def _condition(self) -> str:
        left = self._expression()
        if self._random.random() < 0.7:
            return f"{left} % {self._random.randrange(2, 5)} == {self._random.randrange(2)}"
        return f"{left} < {self._expression()}"

    def _block(self, depth: int, uniform: bool, loop: str) -> None:
        for _ in range(self._random.randrange(1, 4)):
            self._statement(depth, uniform, loop)

    def _statement(self, depth: int, uniform: bool, loop: str) -> None:
        """uniform: all threads come here equally often, so a barrier may stand; loop: "" or whether one may break."""
        kind = self._random.random()
        if depth > 4 or kind < 0.3:
            name, value = self._random.choice("xy"), self._expression()
            self._both(depth, f"{name} = {value};", f"{name} = {value}")
        elif kind < 0.5:
            condition = self._condition()
            self._both(depth, f"if ({condition}) {{", f"if {condition}:")
            self._block(depth + 1, False, loop)
            if self._random.random() < 0.5:
                self._both(depth, "} else {", "else:")
                self._block(depth + 1, False, loop)
            self._cuda.append("}")
        elif kind < 0.7:
            self._loop(depth, uniform)
        elif kind < 0.78 and loop == "break":
            condition, jump = self._condition(), self._random.choice(["break", "continue"])
            self._both(depth, f"if ({condition}) {jump};", f"if {condition}: {jump}")
        elif kind < 0.92 and uniform:
            value, threads = self._expression(), self.threads
            place = f"s[({threads - 1} - t + {self._random.randrange(threads)}) % {threads}]"
            self._both(depth, f"s[t] = {value}; __syncthreads();", f"s[t] = {value}; yield")
            self._both(depth, f"x = x + {place} & M; __syncthreads();", f"x = x + {place} & M; yield")
        else:
            target, value = f"out[b * {self.threads} + t]", self._expression()
            self._both(depth, f"{target} += {value};", f"{target} = {target} + {value} & M")

    def _loop(self, depth: int, uniform: bool) -> None:
        outer, self._counter = self._counter, f"i{self._loops}"
        name, bound = self._counter, f"n{self._loops}"
        self._loops += 1
        same = self._random.random() < 0.5
        count = str(self._random.randrange(1, 5)) if same else f"{self._expression().replace(name, 'x')} % 5"
        self._both(depth, f"unsigned {bound} = {count};", f"{bound} = {count}")
        self._both(depth, f"for (unsigned {name} = 0; {name} < {bound}; ++{name}) {{", f"for {name} in range({bound}):")
        self._block(depth + 1, uniform and same, "" if uniform and same else "break")
        self._cuda.append("}")
        self._counter = outer

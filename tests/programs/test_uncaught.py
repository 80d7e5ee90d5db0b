"""A program that an exception ends says which, as one that g++ built does."""

from __future__ import annotations

from pathlib import Path

from grader.programs.execution import run_each
from grader.programs.records import RunLimits, Start
from grader.programs.sources import Sources

TEXT = r"""#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>
struct Named { virtual ~Named() {} int kind = 4; };
struct Failed : Named, std::exception {
    std::string text = "code " + std::to_string(kind);
    const char *what() const noexcept override { return text.c_str(); }
};
struct Derived : virtual Named, virtual std::logic_error { Derived() : std::logic_error("twice removed") {} };
namespace lab { struct Plain { int code; }; }
void check(cudaError_t error) { if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error)); }
int main(int argc, char **argv) {
    printf("begun\n");
    try { throw 3; } catch (int number) { printf("caught %d\n", number); }
    switch (atoi(argv[1])) {
        case 0: throw 7;
        case 1: check(cudaSetDevice(99));
        case 2: throw Failed();
        case 3: throw Derived();
        case 4: throw lab::Plain{2};
        case 5: try { throw std::out_of_range("outer"); }
            catch (...) { try { throw 5; } catch (int) {} throw; }
        case 6: { std::exception_ptr kept;
            try { throw std::range_error("kept"); } catch (...) { kept = std::current_exception(); }
            std::rethrow_exception(kept); }
        case 7: throw "text";
    }
}
__global__ void k() {}
"""
ENDS = [
    ("int", None),
    ("std::runtime_error", "invalid device ordinal"),
    ("Failed", "code 4"),
    ("Derived", "twice removed"),
    ("lab::Plain", None),
    ("std::out_of_range", "outer"),
    ("std::range_error", "kept"),
    ("char const*", None),
]


def test_an_exception_that_nothing_catches_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.cu"
    path.write_text(TEXT)
    runs = run_each(Sources([path]), [Start(arguments=(str(number),)) for number in range(len(ENDS))], RunLimits())
    for number, (run, (name, what)) in enumerate(zip(runs, ENDS, strict=True)):
        told = f"terminate called after throwing an instance of '{name}'\n"
        assert run.stderr.decode() == told + (f"  what():  {what}\n" if what else ""), number
        assert run.stdout == b"begun\ncaught 3\n"
        assert run.exit is None and run.cause is not None and run.cause.id == "programs.uncaught"
        assert run.cause.data["exception"] == (f"{name}: {what}" if what else name)
    assert [(f.kind, f.line) for f in runs[2].findings if f.message == runs[2].cause] == [("crash", 21)]

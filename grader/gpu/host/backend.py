"""The GPU as a backend: results as the hardware gives them."""

from __future__ import annotations

from grader.backends.base import Code, LaunchOutcome, LaunchRequest
from grader.gpu.host.session import GpuSession
from grader.gpu.messages import KernelFacts
from grader.result import BackendName


class GpuBackend:
    """Runs programs in machine code in the process of a session."""

    def __init__(self, session: GpuSession) -> None:
        self._session = session

    @property
    def name(self) -> BackendName:
        """What results call it."""
        return "gpu"

    def run(self, code: Code, request: LaunchRequest) -> LaunchOutcome:
        """Run one launch."""
        return self.run_with_facts(code, request)[0]

    def run_with_facts(self, code: Code, request: LaunchRequest) -> tuple[LaunchOutcome, KernelFacts | None]:
        """As `run`, with what the driver knows of the kernel."""
        return self._session.run_with_facts(self.load(code), request)

    def load(self, code: Code) -> str:
        """Make a program known to the session, if it is not yet; the name that it has there."""
        if not self._session.has(code.key):
            self._session.add(code.key, code.cubin)
        return code.key

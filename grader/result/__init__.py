"""The result of grading one submission: the records of `result.json`, a contract (docs/result.md).

Everything that is shown to anybody, in a terminal, a page or a gradebook, is derived from these records.
`null` stands for what was not measured; no number is ever made up.

Others import these names from here; which file a record stands in is nobody else's business.
"""

from grader.result.check import (
    EXIT_CODES,
    OF_TIME,
    Check,
    CheckStatus,
    Repair,
    ResultStatus,
    Score,
    SkipReason,
    is_unjudged,
    judged_points,
    score_of,
    status_of,
    weightier,
)
from grader.result.counters import Counters, LineCounters, WarpArray, WarpRequest, WarpSteps
from grader.result.decisions import Decisions, Lateness, Override
from grader.result.diagnosis import Diagnosis, Element, ElementRange, ElementRead, ElementWriter, WrongPattern
from grader.result.file import decode, encode, json_schema, write_schema
from grader.result.measured import HostMemory, Ratio, Resources, Timing, Witness
from grader.result.record import Record
from grader.result.result import SCHEMA_VERSION, Environment, Result, Source, Student, TitlePage, exit_code, marked
from grader.result.sweep import Estimate, SweepPoint, SweepRecord
from grader.result.variant import BackendName, Case, CaseKind, Hazard, HazardKind, Launch, Variant

__all__ = [
    "EXIT_CODES",
    "OF_TIME",
    "SCHEMA_VERSION",
    "BackendName",
    "Case",
    "CaseKind",
    "Check",
    "CheckStatus",
    "Counters",
    "Decisions",
    "Diagnosis",
    "Element",
    "ElementRange",
    "ElementRead",
    "ElementWriter",
    "Environment",
    "Estimate",
    "Hazard",
    "HazardKind",
    "HostMemory",
    "Lateness",
    "Launch",
    "LineCounters",
    "Override",
    "Ratio",
    "Record",
    "Repair",
    "Resources",
    "Result",
    "ResultStatus",
    "Score",
    "SkipReason",
    "Source",
    "Student",
    "SweepPoint",
    "SweepRecord",
    "Timing",
    "TitlePage",
    "Variant",
    "WarpArray",
    "WarpRequest",
    "WarpSteps",
    "Witness",
    "WrongPattern",
    "decode",
    "encode",
    "exit_code",
    "is_unjudged",
    "json_schema",
    "judged_points",
    "marked",
    "score_of",
    "status_of",
    "weightier",
    "write_schema",
]

"""Comparing two dumps."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any

from . import _installation


@dataclasses.dataclass(frozen=True)
class Cause:
    """Why a finding differs, as `ulpscope explain ID` describes it."""

    id: str
    confidence: str  #: "certain", "likely", "possible"
    evidence: list[str]
    finding: int  #: index of the finding that it explains


@dataclasses.dataclass(frozen=True)
class Finding:
    """A place where the runs differ, and not because of an earlier one."""

    kind: str  #: "origin", "arguments", "sequence", "rng", "data", "parameter", ...
    op: str
    module: str | None
    phase: str | None  #: None of a tensor of a file
    step: int | None  #: None before the first step
    where: str | None  #: "train.py:41"
    source: str | None  #: the text of that line
    diverges: bool
    data: dict[str, Any] = dataclasses.field(repr=False)  #: all that the JSON report says of it


@dataclasses.dataclass(frozen=True)
class Report:
    """What a comparison says."""

    verdict: str  #: "identical", "within", "diverged", "inconclusive"
    summary: str
    findings: list[Finding] = dataclasses.field(repr=False)  #: the first difference first
    causes: list[Cause] = dataclasses.field(repr=False)
    text: str = dataclasses.field(repr=False)  #: as `ulpscope compare` prints it
    data: dict[str, Any] = dataclasses.field(repr=False)  #: the JSON report

    @property
    def first(self) -> Finding | None:
        """The first finding that diverges."""
        return next((one for one in self.findings if one.diverges), None)

    def __bool__(self) -> bool:
        """Whether the runs agree: identical, or within the tolerance."""
        return self.verdict in ("identical", "within")


def _finding(data: dict[str, Any]) -> Finding:
    names = [each.name for each in dataclasses.fields(Finding) if each.name != "data"]
    return Finding(**{name: data.get(name) for name in names}, data=data)


def _cause(data: dict[str, Any]) -> Cause:
    return Cause(data["id"], data["confidence"], data.get("evidence", []), data["finding"])


def compare(
    reference: str | os.PathLike, candidate: str | os.PathLike, *options: str
) -> Report:
    """Compares two dumps.

    Args:
        reference, candidate: folders of dumps; a part may be selected: "runs/a@steps=10-19".
        options: further ones of `ulpscope compare`, such as "--budget", "--by", "layers".

    Raises:
        Error: a dump cannot be read, or an option is wrong.
    """
    arguments = ["compare", os.fspath(reference), os.fspath(candidate), *options]
    data = json.loads(_installation.run(*arguments, "--format", "json").stdout)
    text = _installation.run(*arguments, "--color", "never").stdout
    return Report(
        verdict=data["verdict"],
        summary=data["summary"],
        findings=[_finding(each) for each in data["findings"]],
        causes=[_cause(each) for each in data["causes"]],
        text=text,
        data=data,
    )

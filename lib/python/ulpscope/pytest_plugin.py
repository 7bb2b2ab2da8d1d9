"""Tests that record what they train and compare it with a golden dump:

    def test_training(ulpscope_golden):
        with ulpscope_golden("golden/mlp"):
            train()

`pytest --ulpscope-update` records the golden dumps anew; they belong to the repository, or to where
a pipeline keeps its artifacts. They fit the machine and the versions that they were recorded with.
"""

from __future__ import annotations

import contextlib
import os

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("ulpscope").addoption(
        "--ulpscope-update", action="store_true", help="record the golden dumps of ulpscope_golden anew"
    )


@pytest.fixture
def ulpscope_golden(request: pytest.FixtureRequest, tmp_path):
    """A context manager: records what runs inside and compares it with a golden dump.

    Args:
        golden: the folder of the golden dump, relative to the test's file.
        compare: options of `ulpscope compare`, such as ("--tolerance", "tolerances.toml").
        options: those of `ulpscope.record`.
    """
    import ulpscope

    update = request.config.getoption("--ulpscope-update")

    @contextlib.contextmanager
    def golden_run(golden: str | os.PathLike, *, compare: tuple[str, ...] = (), **options):
        golden = os.path.join(request.path.parent, golden)
        if update:
            with ulpscope.record(golden, **{**options, "force": True}):
                yield
            return
        if not os.path.isdir(golden):
            pytest.fail(f"there is no golden dump '{golden}': record it with --ulpscope-update", pytrace=False)
        with ulpscope.record(tmp_path / "candidate", **options) as recorded:
            yield
        report = ulpscope.compare(golden, recorded.directory, *compare)
        if not report:
            pytest.fail(report.text, pytrace=False)

    return golden_run

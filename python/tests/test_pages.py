"""Python snippets of README and docs run as they stand."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import fairlane

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").glob("*.md"))]


def snippets(page: str) -> list[str]:
    """Give the blocks of a page that are in Python."""
    return re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder that has what snippets read; sweeps have two seeds and runs of 300 us."""
    for name in ("scenarios", "examples", "sweeps"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    sweep = fairlane.sweep

    def short_sweep(scenario, axes, **arguments):  # type: ignore[no-untyped-def]
        return sweep(scenario, axes, **{**arguments, "seeds": 2, "set": {"stop": "300us"}})

    monkeypatch.setattr(fairlane, "sweep", short_sweep)
    return tmp_path


@pytest.mark.parametrize("page", [page for page in PAGES if snippets(page)])
def test_snippets_run_as_they_stand(page: str, clone: Path) -> None:
    names: dict[str, object] = {}
    for snippet in snippets(page):
        exec(compile(snippet, page, "exec"), names)  # noqa: S102
    # Git ignores `out`.
    assert set(os.listdir(clone)) <= {"scenarios", "examples", "sweeps", "out"}


def test_pages_have_snippets() -> None:
    assert {page for page in PAGES if snippets(page)} >= {"README.md", "docs/python.md"}

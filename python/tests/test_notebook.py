"""The notebooks of examples/ run, in their reduced size."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples").glob("*.ipynb"))


def cells(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text())["cells"]


def shown(source: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does, and give what it shows."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    pytest.importorskip("polars")
    matplotlib.use("agg")
    monkeypatch.setenv("FAIRLANE_SMALL", "1")
    names: dict[str, Any] = {}
    code = ["".join(cell["source"]) for cell in cells(path) if cell["cell_type"] == "code"]
    results = [shown(source, names) for source in code]
    pages = [it._repr_html_() for it in results if hasattr(it, "_repr_html_")]
    assert pages[-1].startswith("<iframe"), "the report is shown inline"
    for number in names["plt"].get_fignums():
        figure = names["plt"].figure(number)
        figure.canvas.draw()
        assert all(ax.lines for ax in figure.axes)
    names["plt"].close("all")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_short_and_kept_without_output(path: Path) -> None:
    assert sum(len(cell["source"]) for cell in cells(path)) < 60
    assert not any(cell.get("outputs") for cell in cells(path))


def test_there_is_a_notebook() -> None:
    assert NOTEBOOKS

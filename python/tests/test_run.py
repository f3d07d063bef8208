"""Runs from Python: the same results as the command's, as tables, without files."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairlane
from fairlane import FairlaneError, Scenario, ScenarioError, WriteError
from fairlane.scenario import Incast, LinkSpec, Star

STAR = {"kind": "star", "hosts": 5, "host_link": {"rate": "100Gbps", "delay": "1us"}}
INCAST = {"topology": STAR, "workload": [{"kind": "incast", "degree": 4, "size": "256kB"}]}
LONG = {"topology": STAR, "workload": [{"kind": "incast", "degree": 4, "size": "4GB"}]}

TEXT = """
[topology]
kind = "star"
hosts = 5
host_link = { rate = "100Gbps", delay = "1us" }

[[workload]]
kind = "incast"
degree = 4
size = "256kB"
"""


def columns(table: fairlane.Table) -> dict[str, list]:
    return {name: list(table[name]) for name in table.columns}


def test_a_file_a_text_a_dictionary_and_an_object_are_one_scenario(tmp_path: Path) -> None:
    path = tmp_path / "incast.toml"
    path.write_text(TEXT)
    typed = Scenario(
        topology=Star(hosts=5, host_link=LinkSpec(rate="100Gbps", delay="1us")),
        workload=[Incast(degree=4, size="256kB")],
    )
    tables = [columns(fairlane.run(it).messages) for it in (path, str(path), TEXT, INCAST, typed)]
    assert all(table == tables[0] for table in tables)
    assert sorted(tmp_path.iterdir()) == [path], "nothing is written unless asked for"


def test_overrides_replace_what_the_scenario_says() -> None:
    assert len(fairlane.run(INCAST, workload__0__degree=2).messages) == 2
    run = fairlane.run(INCAST, set={"congestion.algorithm": "swift"}, seed=7)
    assert (run.summary["congestion"], run.summary["seed"]) == ("Swift", 7)
    assert len(fairlane.run(INCAST, workload__0__degree=np.int64(3)).messages) == 3


def test_threads_do_not_change_results() -> None:
    one, two = (fairlane.run(INCAST, threads=threads) for threads in (1, 2))
    assert columns(one.messages) == columns(two.messages)


@pytest.mark.parametrize(
    ("change", "place", "words"),
    [
        ({"workload": [{"kind": "incast", "degre": 4, "size": "1kB"}]}, "workload[0].degre", "degree"),
        ({"workload": [{"kind": "incast", "degree": 4, "size": "1kX"}]}, "workload[0].size", "unit"),
        ({"workload": [{"kind": "incast", "degree": 9, "size": "1kB"}]}, "workload[0].degree", ""),
        ({"worklaod": []}, "worklaod", "workload"),
        ({"workload": [{"kind": "incast", "degree": 4, "size": object()}]}, "workload[0].size", "text"),
        ({"seed": 1 << 80}, "seed", "2^63"),
        ({"stop": {1: 2}}, "stop", "text"),
    ],
)
def test_a_mistake_in_a_dictionary_has_place_and_hint(change: dict, place: str, words: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        fairlane.run({**INCAST, **change})
    error = caught.value
    assert error.place == place, str(error)
    assert error.hint and words in error.hint + error.message, str(error)
    assert isinstance(error, ValueError)


def test_a_dictionary_that_holds_itself_is_refused() -> None:
    endless: dict = dict(INCAST)
    endless["topology"] = endless
    with pytest.raises(ScenarioError, match="nested too deeply"):
        fairlane.run(endless)


def test_a_mistake_in_a_file_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(TEXT.replace("degree = 4", "degree = 40"))
    with pytest.raises(ScenarioError) as caught:
        fairlane.run(path)
    assert caught.value.place == f"{path}:9:1" or caught.value.place.startswith(f"{path}:9:")
    with pytest.raises(ScenarioError, match="nowhere.toml"):
        fairlane.run(tmp_path / "nowhere.toml")


def test_a_mistake_in_an_override_names_it() -> None:
    with pytest.raises(ScenarioError) as caught:
        fairlane.run(INCAST, workload__0__degree="many")
    assert caught.value.place.startswith("override workload.0.degree")
    assert "--set" not in str(caught.value)


def test_an_attribute_that_is_no_key_is_refused() -> None:
    scenario = Scenario()
    with pytest.raises(AttributeError, match="did you mean 'algorithm'"):
        scenario.congestion.algoritm = "swift"  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        Incast(degree=4, sise="1kB")  # type: ignore[call-arg]


def test_tables_say_what_the_summary_says() -> None:
    run = fairlane.run(INCAST)
    summary, signals = run.summary, run.signals
    assert summary["ending"] == "complete"
    assert len(run.messages) == summary["messages"] == 4
    assert max(run.messages["slowdown"]) == summary["slowdown"]["max"]
    assert run.messages["outcome"] == ["completed"] * 4
    assert run.ports["queue_max_bytes"].max() <= summary["queue_max_bytes"]
    assert len(run.links) == 10 and len(run.ports) % len(run.links) == 0
    counts = dict(zip(signals["signal"], signals["count"]))
    reasons = dict(zip(signals["signal"], signals["why_zero"]))
    assert counts["drops.buffer-full"] == 0 and reasons["drops.buffer-full"]
    assert len(run.tenants) == 0
    for name in ("pauses", "rates", "packets", "capture", "throughput"):
        assert len(getattr(run, name)) >= 0
    with pytest.raises(KeyError, match="slowdown"):
        run.messages["slow"]


def test_tenants_have_rows() -> None:
    tenants = [{"name": "a", "hosts": "0-2"}, {"name": "b", "hosts": "3,4"}]
    incast = {"kind": "incast", "size": "64kB"}
    workload = [
        {**incast, "tenant": "a", "degree": 2},
        {**incast, "tenant": "b", "degree": 1},
    ]
    run = fairlane.run({**INCAST, "tenant": tenants, "workload": workload})
    assert run.tenants["tenant"] == ["a", "b"]
    assert list(run.tenants["messages"]) == [2, 1]
    assert {"a", "b"} < set(run.signals["tenant"])


def test_messages_that_never_finished_have_no_slowdown() -> None:
    run = fairlane.run(INCAST, stop="2us")
    assert np.isnan(run.messages["slowdown"]).all() and np.isnan(run.messages["finish_ps"]).all()
    assert set(run.messages["outcome"]) == {"unfinished"}


def test_files_are_those_of_the_command(tmp_path: Path) -> None:
    run = fairlane.run(INCAST, out=tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"scenario.toml", "flows.parquet", "ports.parquet", "summary.json", "report.html"} <= names
    assert json.loads((tmp_path / "out" / "summary.json").read_text()) == run.summary
    with pytest.raises(WriteError, match="force=True"):
        run.write(tmp_path / "out")
    assert run.write(tmp_path / "out", force=True) == (tmp_path / "out").resolve()
    again = fairlane.run(tmp_path / "out" / "scenario.toml")
    assert columns(again.messages) == columns(run.messages)


def test_a_directory_that_is_there_is_refused_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    begun = time.monotonic()
    with pytest.raises(WriteError, match="not empty"):
        fairlane.run(LONG, out=tmp_path)
    assert time.monotonic() - begun < 5


def test_the_report_is_shown_inline(tmp_path: Path) -> None:
    report = fairlane.run(INCAST).report()
    shown = report._repr_html_()
    assert shown.startswith("<iframe") and "<script" not in shown
    assert report.save(tmp_path / "r.html").read_text().count("</html>") == 1


def test_other_threads_go_on_and_ctrl_c_ends_a_run() -> None:
    ticks = []
    stop = threading.Event()

    def tick() -> None:
        while not stop.wait(0.05):
            ticks.append(time.monotonic())
            if len(ticks) == 10:
                os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            fairlane.run(LONG)
    finally:
        stop.set()
        thread.join()
    assert len(ticks) >= 10, "the interpreter's lock is released"


def test_the_scenario_module_follows_the_schema() -> None:
    here = Path(__file__).parent.parent
    path = here / "tools" / "generate_scenario.py"
    spec = importlib.util.spec_from_file_location("generate_scenario", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = module.generate(json.loads(fairlane._native.schema()))
    there = {file.stem: file.read_text() for file in (here / "fairlane" / "scenario").glob("*.py")}
    assert made == there, "run tools/generate_scenario.py"


def test_it_is_imported_without_anything_else(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules.update(numpy=None, matplotlib=None); import fairlane; "
        f"run = fairlane.run({INCAST!r}); assert len(run.messages) == 4; "
        "assert not {'polars', 'pandas', 'pyarrow'} & set(sys.modules)\n"
        "try: fairlane.plot.cdf(run)\n"
        "except fairlane.MissingError as error: assert 'pip install' in error.hint\n"
        "else: raise SystemExit('no error')"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


def test_topology_and_paths() -> None:
    facts = fairlane.topology(INCAST, topology__hosts=6)
    assert (facts["hosts"], facts["switches"]) == (6, 1)
    rows = fairlane.paths(INCAST, 0, 1, ports=range(10000, 10002))
    assert [row["source_port"] for row in rows] == [10000, 10001]
    assert rows[0]["forward"] == [0, 5, 1] and rows[0]["reverse"] == [1, 5, 0]
    assert rows[0]["forward_indices"] == [None, None]
    with pytest.raises(ScenarioError):
        fairlane.paths(INCAST, 0, 5)
    with pytest.raises(ValueError, match="range"):
        fairlane.paths(INCAST, 0, 1, ports=range(4, 4))


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ({"seed": -1}, "seed"),
        ({"seed": 2**63}, "seed"),
        ({"seed": 2**64}, "seed"),
        ({"seed": "1"}, "seed"),
        ({"seed": 1.0}, "seed"),
        ({"threads": -1}, "threads"),
        ({"threads": 0}, "threads"),
        ({"threads": 2**40}, "threads"),
    ],
)
def test_numbers_out_of_range_are_named(arguments: dict[str, Any], place: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        fairlane.run(INCAST, **arguments)
    assert caught.value.place == place
    assert caught.value.hint is not None and "expected a whole number from " in caught.value.hint


def test_numbers_of_other_calls_are_named_too() -> None:
    calls: list[tuple[str, Any]] = [
        ("source", lambda: fairlane.paths(INCAST, -1, 1)),
        ("destination", lambda: fairlane.paths(INCAST, 0, 2**32)),
        ("ports", lambda: fairlane.paths(INCAST, 0, 1, ports=range(5, 5))),
        ("ports.stop", lambda: fairlane.paths(INCAST, 0, 1, ports=range(65530, 70000))),
        ("destination_port", lambda: fairlane.paths(INCAST, 0, 1, destination_port=-1)),
        ("seeds", lambda: fairlane.sweep(INCAST, {}, seeds=-1)),
        ("workers", lambda: fairlane.sweep(INCAST, {}, workers=2**64)),
        ("seeds", lambda: fairlane.attack(INCAST, seeds=2**20)),
        ("threads", lambda: fairlane.reproduce("s0-fig4-5", threads=-1)),
    ]
    for place, call in calls:
        with pytest.raises(ScenarioError) as caught:
            call()
        assert caught.value.place == place


def test_a_run_is_loaded_from_its_directory(tmp_path: Path) -> None:
    changes = {"output.trace_nodes": [0], "output.rate_interval": "1us"}
    run = fairlane.run(INCAST, set=changes, out=tmp_path / "run")
    loaded = fairlane.load(tmp_path / "run")
    assert loaded.summary == run.summary
    assert loaded.scenario == run.scenario
    assert loaded.report().html == run.report().html
    for name in ("messages", "ports", "rates", "packets", "pauses"):
        one, other = getattr(run, name), getattr(loaded, name)
        assert one.columns == other.columns and len(one) == len(other), name
        for column in one.columns:
            np.testing.assert_array_equal(one[column], other[column], err_msg=f"{name}.{column}")
    pa = pytest.importorskip("pyarrow")
    messages = pa.table(loaded.messages)
    assert messages.schema == pa.table(run.messages).schema
    with pytest.raises(FairlaneError, match="no file of a run has the table links"):
        loaded.links
    with pytest.raises(FairlaneError, match="holds no capture.parquet") as caught:
        loaded.capture
    assert caught.value.place == str(tmp_path / "run")
    with pytest.raises(FairlaneError, match="holds no summary.json"):
        fairlane.load(tmp_path)
    (tmp_path / "run" / "flows.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(FairlaneError, match="the file is damaged"):
        loaded.messages


def test_tables_become_data_frames_of_pandas() -> None:
    pd = pytest.importorskip("pandas")
    run = fairlane.run(INCAST)
    frame = run.messages.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == run.messages.columns and len(frame) == len(run.messages)
    assert frame["size_bytes"].sum() == 4 * 256_000
    assert frame["verb"].tolist() == run.messages["verb"]

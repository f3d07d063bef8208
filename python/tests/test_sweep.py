"""Sweeps from Python: the same tables whatever the engine, and nothing lost."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import fairlane
from fairlane import Interrupted, ScenarioError, SweepError, WriteError, drum

STAR = {"kind": "star", "hosts": 5, "host_link": {"rate": "100Gbps", "delay": "1us"}}
INCAST = {"topology": STAR, "workload": [{"kind": "incast", "degree": 4, "size": "64kB", "jitter": "2us"}]}
AXES = {"congestion.algorithm": ["dcqcn", "swift"], "workload.0.degree": [2, 4]}
METRICS = ["slowdown.max", {"name": "twice", "value": "2 * slowdown.max"}]
FILES = ["means.csv", "means.parquet", "table.csv", "table.parquet"]


def study(**more):
    return fairlane.sweep(INCAST, AXES, seeds=3, metrics=["slowdown.max", "goodput_gbps"], **more)


def tables(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES}


def columns(table: fairlane.Table) -> dict[str, list]:
    return {name: list(table[name]) for name in table.columns}


@pytest.fixture(scope="module")
def threads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a sweep on threads."""
    folder = tmp_path_factory.mktemp("threads") / "out"
    study(out=folder)
    return folder


def test_a_sweep_has_rows_and_means(tmp_path: Path) -> None:
    heard: list[fairlane.Progress] = []
    sweep = study(progress=heard.append)
    assert (sweep.kept, sweep.runs, len(sweep.table), len(sweep.means)) == (12, 12, 24, 8)
    assert set(sweep.means["n"]) == {3}
    assert sweep.axes == list(AXES) and sweep.metrics == ["slowdown.max", "goodput_gbps"]
    first = fairlane.run(INCAST, congestion__algorithm="dcqcn", workload__0__degree=2)
    assert sweep.table["value"][0] == first.summary["slowdown"]["max"]
    assert heard[0] == (None, 0, 12, 0.0) and heard[-1].ended == 12 and heard[-1].share == 1.0
    assert "<html" in sweep.report().html and "±" in str(sweep)
    assert repr(sweep).endswith("12 of 12 runs>")
    assert list(tmp_path.iterdir()) == [], "nothing is written unless asked for"


def test_a_path_a_text_and_a_dictionary_are_one_sweep(tmp_path: Path) -> None:
    text = (
        'topology = { kind = "star", hosts = 5, host_link = { rate = "100Gbps", delay = "1us" } }\n'
        '[[workload]]\nkind = "incast"\ndegree = 4\nsize = "64kB"\njitter = "2us"\n'
    )
    path = tmp_path / "incast.toml"
    path.write_text(text)
    made = [fairlane.sweep(it, AXES, metrics=["slowdown.max"]) for it in (INCAST, text, path)]
    assert len({str(columns(sweep.means)) for sweep in made}) == 1


def test_a_file_of_the_command_is_read() -> None:
    file = Path(__file__).parents[2] / "sweeps" / "incast.toml"
    with pytest.raises(ScenarioError, match="axes: expected what is varied, beside"):
        fairlane.sweep(file, seeds=2)
    # Its 240 runs are too many here; that it is read shows by what it is refused for.
    with pytest.raises(WriteError, match="not empty"):
        fairlane.sweep(file, out=Path(__file__).parent)


def test_axes_are_those_of_the_file() -> None:
    axes = {
        "degree": {"key": "workload.0.degree", "range": {"from": 1, "to": 4, "factor": 2}},
        "size": {"key": "workload.0.size", "values": ["64kB", "32kB", "16kB"], "with": "degree"},
    }
    sweep = fairlane.sweep(INCAST, axes, metrics=METRICS, plot={"x": "degree"})
    assert list(sweep.means["degree"]) == [1, 1, 2, 2, 4, 4]
    assert list(sweep.means["size"])[::2] == [64000, 32000, 16000]
    means = sweep.means["mean"]
    assert list(means[1::2]) == list(2 * means[::2])
    assert fairlane.sweep(INCAST, {}, seeds=2).runs == 2


def test_processes_give_the_same_bytes(threads: Path, tmp_path: Path) -> None:
    study(engine="processes", workers=2, out=tmp_path / "out")
    assert tables(tmp_path / "out") == tables(threads)


def children() -> list[int]:
    mine = str(os.getpid())
    found = []
    for entry in Path("/proc").iterdir():
        try:
            parent = entry.joinpath("stat").read_text().rsplit(")", 1)[1].split()[1]
            command = entry.joinpath("cmdline").read_bytes()
        except (OSError, IndexError):
            continue
        if parent == mine and b"fairlane._worker" in command:
            found.append(int(entry.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc, in which workers are found")
def test_a_killed_worker_means_a_repeated_run(threads: Path, tmp_path: Path) -> None:
    killed: list[int] = []

    def kill() -> None:
        # A worker takes longer to begin than this to find it, and none answers before.
        end = time.monotonic() + 60
        while len(killed) < 2 and time.monotonic() < end:
            for worker in set(children()[:1]) - set(killed):
                os.kill(worker, signal.SIGKILL)
                killed.append(worker)
            time.sleep(0.005)

    killer = threading.Thread(target=kill)
    killer.start()
    sweep = study(engine="processes", workers=2, out=tmp_path / "out")
    killer.join()
    assert len(killed) == 2 and sweep.kept == 12
    assert tables(tmp_path / "out") == tables(threads)
    assert children() == [], "no worker is left"


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_ctrl_c_keeps_what_is_done(threads: Path, tmp_path: Path, engine: str) -> None:
    def interrupt(state: fairlane.Progress) -> None:
        if state.ended == 4:
            os.kill(os.getpid(), signal.SIGINT)

    out = tmp_path / "out"
    with pytest.raises(Interrupted, match="runs are kept") as caught:
        study(engine=engine, workers=2, out=out, progress=interrupt)
    assert isinstance(caught.value, KeyboardInterrupt)
    assert 4 <= caught.value.sweep.kept < 12
    assert len(caught.value.sweep.table) == 2 * caught.value.sweep.kept
    assert not (out / "table.csv").exists()
    heard: list[fairlane.Progress] = []
    study(out=out, progress=heard.append)
    assert heard[0].ended == caught.value.sweep.kept, "runs that had ended aren't run again"
    assert tables(out) == tables(threads)


def test_a_long_run_is_interrupted_at_once_and_other_threads_go_on() -> None:
    long = {**INCAST, "workload": [{"kind": "incast", "degree": 4, "size": "4GB"}]}
    ticks: list[float] = []

    def tick() -> None:
        while len(ticks) < 10:
            time.sleep(0.05)
            ticks.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=tick)
    with pytest.raises(Interrupted):
        fairlane.sweep(long, {"workload.0.degree": [2, 4]}, progress=lambda _: thread.start())
    assert time.monotonic() - ticks[-1] < 5
    thread.join()


def test_an_error_of_progress_ends_it() -> None:
    def fail(state: fairlane.Progress) -> None:
        if state.ended == 2:
            raise RuntimeError("enough")

    for engine in ("threads", "processes"):
        with pytest.raises(RuntimeError, match="enough"):
            study(engine=engine, workers=1, progress=fail)


@pytest.mark.parametrize(
    ("axes", "more", "place", "words"),
    [
        ({"workload.0.degre": [2]}, {}, "axes['workload.0.degre']", "degree"),
        ({"workload.0.size": ["1kX"]}, {}, "axes['workload.0.size']", "unit"),
        ({"workload.0.degree": [2, 40]}, {}, "axes['workload.0.degree']", "40"),
        ({"workload.0.degree": []}, {}, "axes['workload.0.degree']", "empty"),
        ({"workload.0.degree": 4}, {}, "axes['workload.0.degree']", "[4]"),
        ({"workload.0.degree": [object()]}, {}, "axes['workload.0.degree']", "type object"),
        ({"workload.0.degree": [2, 2]}, {}, "axes['workload.0.degree']", "two of its values"),
        ({"seed": [1, 2]}, {}, "axes['seed']", "column"),
        ({"a": {"key": "seed", "valeus": [1]}}, {}, "axes['a']", "valeus"),
        (AXES, {"metrics": []}, "", "metrics"),
        (AXES, {"metrics": ["slowdown.p98"]}, "metrics", "slowdown.p"),
        (AXES, {"metrics": [{"name": "a", "of": "slow"}]}, "metrics[0]", "slow"),
        (AXES, {"seeds": 0}, "seeds", "at least 1"),
        (AXES, {"plot": {"x": "degree"}}, "", "no axis"),
        (AXES, {"set": {"workload.0.size": "many"}}, "", "many"),
        ({"workload.0.degree": range(1, 5)}, {"seeds": 2_500_001}, "", "yes=True"),
    ],
)
def test_mistakes_have_their_place(axes: dict, more: dict, place: str, words: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        fairlane.sweep(INCAST, axes, **more)
    assert caught.value.place.startswith(place), repr(caught.value)
    assert words in str(caught.value), str(caught.value)
    assert "--" not in str(caught.value), str(caught.value)


def test_a_mistake_in_the_dictionary_has_its_key() -> None:
    wrong = {**INCAST, "workload": [{"kind": "incast", "degre": 4, "size": "1kB"}]}
    with pytest.raises(ScenarioError) as caught:
        fairlane.sweep(wrong, {"congestion.algorithm": ["dcqcn", "swift"]})
    assert caught.value.place == "workload[0].degre" and "degree" in str(caught.value)
    with pytest.raises(ScenarioError, match="axes: expected what is varied"):
        fairlane.sweep(INCAST)


def test_a_folder_of_another_sweep_is_left_alone(tmp_path: Path) -> None:
    out = tmp_path / "out"
    fairlane.sweep(INCAST, {"workload.0.degree": [2]}, out=out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    with pytest.raises(WriteError, match=r"another sweep.*\n.*extend=True"):
        fairlane.sweep(INCAST, {"workload.0.degree": [2, 3]}, out=out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    heard: list[fairlane.Progress] = []
    fairlane.sweep(INCAST, {"workload.0.degree": [2, 3]}, out=out, extend=True, progress=heard.append)
    assert (heard[0].ended, heard[0].runs) == (1, 2)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("")
    with pytest.raises(WriteError, match="not the folder of a sweep"):
        fairlane.sweep(INCAST, {}, out=tmp_path / "mine")


def test_a_run_that_costs_every_worker_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Workers die at once, as those without memory do.
    (tmp_path / "sitecustomize.py").write_text("import os; os._exit(9)")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(SweepError, match="lost 3 times") as caught:
        study(engine="processes", workers=1)
    assert caught.value.sweep.kept == 0 and "memory" in str(caught.value)


def test_engines_are_checked() -> None:
    for wrong, words in [
        ({"engine": "cloud"}, "no engine"),
        ({"engine": "processes", "memory": 1}, 'engine="ray"'),
        ({"workers": 0}, "at least 1"),
    ]:
        with pytest.raises(fairlane.FairlaneError, match=words):
            study(**wrong)


def test_batches_of_problems_are_the_same_everywhere() -> None:
    problems = drum.random(hosts=12, applications=20, seed=3)
    answers = drum.solve_batch(problems)
    assert [answer["name"] for answer in answers] == [problem["name"] for problem in problems]
    assert drum.solve_batch(problems, engine="processes", workers=2) == answers
    assert drum.solve_batch(problems, workers=1) == answers
    assert all(answer["relative_gap"] < 1e-9 for answer in answers)
    problems[7]["inputs"]["weight"][2] = -1.0
    for engine in ("threads", "processes"):
        with pytest.raises(drum.ProblemError, match=r"problems\[7\]: inputs.weight\[2\]"):
            drum.solve_batch(problems, engine=engine, workers=2)
        kept = drum.solve_batch(problems, engine=engine, workers=2, keep_going=True)
        assert kept[7]["error"].startswith("problems[7]: inputs.weight[2]")
        assert kept[:7] + kept[8:] == answers[:7] + answers[8:]
    with pytest.raises(drum.ProblemError, match=r"problems\[0\]: relative gap .* at most is required"):
        drum.solve_batch(problems, keep_going=True, require_gap=-1.0)


def test_processes_do_not_run_the_program_again(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import fairlane\nprint('once')\n"
        f"sweep = fairlane.sweep({INCAST!r}, {{}}, seeds=2, engine='processes', workers=2)\n"
        "print(sweep.kept)\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["once", "2"]


def test_a_file_and_arguments_are_the_same_sweep(tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(
        'topology = { kind = "star", hosts = 5, host_link = { rate = "100Gbps", delay = "1us" } }\n'
        '[[workload]]\nkind = "incast"\ndegree = 4\nsize = "64kB"\njitter = "2us"\n'
    )
    (tmp_path / "sweep.toml").write_text(
        'scenario = "scenario.toml"\nseeds = 3\nmetrics = ["slowdown.max", "goodput_gbps"]\n'
        '[[axis]]\nname = "congestion.algorithm"\nkey = "congestion.algorithm"\nvalues = ["dcqcn", "swift"]\n'
        '[[axis]]\nname = "workload.0.degree"\nkey = "workload.0.degree"\nvalues = [2, 4]\n'
    )
    fairlane.sweep(tmp_path / "sweep.toml", out=tmp_path / "out")
    before = tables(tmp_path / "out")
    heard: list[fairlane.Progress] = []
    study(out=tmp_path / "out", progress=heard.append)
    assert heard[0].ended == 12, "nothing is run again"
    assert tables(tmp_path / "out") == before

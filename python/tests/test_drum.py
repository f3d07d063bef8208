"""The solver as Python sees it."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

import fairlane
from fairlane import drum
from fairlane.drum import ProblemError, solve

ARRAYS = {
    "weight",
    "latency_weight",
    "a",
    "bytes_per_wqe",
    "poll_cost",
    "x_min",
    "x_max",
    "peak_rate",
    "outage",
}


def host(**changes):
    arguments = {
        "weight": np.array([1.0, 2.0, 1.0, 0.5, 3.0]),
        "latency_weight": np.array([1.0, 1.0, 2.0, 1.0, 0.5]),
        "a": np.array([1.5, 2.5, 4.0, 6.0, 8.0]),
        "bytes_per_wqe": np.array([1.0, 2.0, 0.5, 3.0, 1.2]),
        "poll_cost": np.array([1.0, 1.0, 1.5, 0.8, 1.0]),
        "alpha": 0.5,
        "beta": 0.2,
        "Q": 5.0,
        "C": 12.0,
    }
    return arguments | changes


def test_a_host_is_solved_with_its_certificate():
    solution = solve(**host())
    assert solution.objective == pytest.approx(12.099134501135548, rel=1e-9)
    assert solution.status == "optimal"
    assert solution.dual_bound >= solution.proven_bound >= solution.objective
    assert solution.gap <= 1e-11
    assert solution.x.dtype == np.float64 and solution.x.shape == (5,)
    np.testing.assert_allclose(solution.z, host()["a"] * solution.x)
    np.testing.assert_allclose(solution.usage, [5.0, 12.0])
    assert list(solution.selected) == [0, 1, 2, 3, 4]
    assert 'Solution(status="optimal", objective=12.09' in repr(solution)
    assert solve(**host(), start=list(solution.prices)).iterations < solution.iterations


def test_arrays_are_read_where_they_are():
    arguments = host()
    before = arguments["weight"].copy()
    arguments["weight"].flags.writeable = False
    solve(**arguments)
    np.testing.assert_array_equal(arguments["weight"], before)


@pytest.mark.parametrize(
    "form",
    [
        lambda array: array.tolist(),
        lambda array: tuple(array.tolist()),
        lambda array: np.repeat(array, 2)[::2],
        lambda array: array.astype(">f8"),
        lambda array: [np.float64(one) for one in array],
    ],
)
def test_lists_and_any_arrays_are_columns(form):
    arguments = host()
    forms = {
        name: form(value) if isinstance(value, np.ndarray) else value
        for name, value in arguments.items()
    }
    np.testing.assert_array_equal(solve(**forms).x, solve(**arguments).x)


def test_whole_and_short_numbers_are_columns():
    ones = host(weight=np.ones(5), x_min=np.zeros(5))
    for kind in (np.int32, np.uint8, np.float32, bool):
        forms = {**ones, "weight": ones["weight"].astype(kind), "x_min": ones["x_min"].astype(kind)}
        np.testing.assert_array_equal(solve(**forms).x, solve(**ones).x)


def test_what_is_no_column_is_refused():
    for column in (["a", 2], [[1.0], [2.0]], 3.0, [1, [2, 3]], object()):
        with pytest.raises(ProblemError, match="weight: expected a number for each application\nhint: "):
            solve(**host(weight=column))


def test_egress_is_a_number_or_a_rate_with_its_unit():
    assert solve(**host(Q="100Gbps")).objective == solve(**host(Q=12.5e9)).objective
    for text in ("100", "fast", "-1Gbps"):
        with pytest.raises(ProblemError, match='Q: expected a number .* such as "100Gbps"'):
            solve(**host(Q=text))
    [problem] = drum.random(hosts=1, applications=4, seed=1)
    answers = []
    for capacity in ("40Gbps", 5e9):
        problem["inputs"]["Q"] = capacity
        answers += drum.solve_batch([problem])
    assert answers[0]["x"] == answers[1]["x"]


@pytest.mark.parametrize(
    ("call", "place"),
    [
        (lambda: solve(**host(iterations=-1)), "iterations"),
        (lambda: solve(**host(nodes=2**70)), "nodes"),
        (lambda: solve(**host(nodes=1.5)), "nodes"),
        (lambda: solve(**host(selected=[-1])), r"selected\[0\]"),
        (lambda: drum.random(hosts=2**40, applications=1, seed=1), "hosts"),
        (lambda: drum.random(hosts=1, applications=1, seed=-1), "seed"),
        (lambda: drum.random(hosts=1, applications=1, seed=2**63), "seed"),
        (lambda: drum.schedule("{}", frame=-1), "frame"),
        (lambda: drum.schedule("{}", policy="reserve", reserved=2**20), "reserved"),
    ],
)
def test_numbers_out_of_range_are_named(call, place):
    with pytest.raises(ProblemError, match=f"{place}: is .*\nhint: expected a whole number from "):
        call()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Q": 0.0}, "egress"),
        ({"C": -1.0}, "poll"),
        ({"alpha": -0.5}, "alpha"),
        ({"alpha": "fair"}, "alpha: expected"),
        ({"beta": float("nan")}, "beta"),
        ({"weight": np.array([1.0, np.nan, 1.0, 1.0, 1.0])}, r"weight\[1\]"),
        ({"a": np.ones(4)}, "a: 4 entries for 5"),
        ({"x_min": np.full(5, 3.0)}, "row egress: infeasible"),
        ({"mode": "topk_utility", "k": 6}, "k"),
        ({"mode": "topk_utility", "k": 2.5}, "k: expected a whole number"),
        ({"mode": "timeshare", "k": 2}, "peak_rate"),
        ({"mode": "nearly"}, "mode: expected"),
        ({"bytes_per_wqe": np.zeros(5), "C": None}, "no limit"),
        ({"Q": None, "C": None}, "its rate has no limit"),
        ({"k": 2}, "k: mode"),
        ({"peak_rate": np.ones(5)}, "peak_rate: mode"),
        ({"segments": [[0.0, 1.0]]}, "Q: expected"),
        ({"tolerance": float("nan")}, "tolerance"),
        ({"iterations": 0}, "iterations"),
    ],
)
def test_bad_input_is_refused_with_the_place(changes, message):
    with pytest.raises(ProblemError, match=message):
        solve(**host(**changes))


def test_modes_are_those_of_the_file_format():
    chosen = solve(**host(mode="topk_utility", k=2))
    assert len(chosen.selected) == 2 and chosen.status == "optimal"
    assert solve(**host(selected=list(chosen.selected))).objective == pytest.approx(
        chosen.objective, rel=1e-9
    )
    fair = solve(**host(alpha="max-min", beta=0.0))
    np.testing.assert_allclose(fair.x / host()["weight"], fair.x[0] / host()["weight"][0])
    shared = solve(**host(mode="timeshare", k=2, peak_rate=np.full(5, 2.0)))
    assert shared.usage[2] <= 2.0 + 1e-9
    extra = solve(**host(rows=[("requests", np.ones(5), 1.5)]))
    assert extra.x.sum() <= 1.5 + 1e-9


def vectors():
    beside = Path(__file__).resolve().parents[3] / "shared" / "reference"
    folder = Path(os.environ.get("FAIRLANE_REFERENCE", beside)) / "drum"
    return sorted(folder.glob("host_*.json"))


@pytest.mark.skipif(not vectors(), reason="no reference data beside the checkout and FAIRLANE_REFERENCE names none")
@pytest.mark.parametrize("path", vectors(), ids=lambda path: path.stem)
def test_reference_vectors(path):
    problem = json.loads(path.read_text())
    inputs = {name: value for name, value in problem["inputs"].items() if name != "m"}
    for name in ARRAYS & inputs.keys():
        numbers = [np.inf if number is None else number for number in inputs[name]]
        inputs[name] = np.array(numbers, dtype=np.float64)
    if problem["kind"] == "host_timeshare":
        inputs["mode"] = "timeshare"
    solution = solve(**inputs)
    optimum = problem["optimum"]
    assert solution.objective == pytest.approx(optimum["objective"], rel=1e-9)
    np.testing.assert_allclose(solution.x, optimum["x"], rtol=1e-7, atol=1e-12)


def test_version():
    assert fairlane.__version__.count(".") == 2


def test_problems_take_arrays_and_columns():
    [problem] = fairlane.drum.random(hosts=1, applications=5, seed=3)
    plain = fairlane.drum.solve_batch([problem])
    inputs = problem["inputs"]
    inputs["weight"] = np.array(inputs["weight"])
    inputs["x_max"] = np.full(5, np.inf)
    inputs["poll_cost"] = pytest.importorskip("polars").Series(inputs["poll_cost"])
    inputs["bytes_per_wqe"] = pytest.importorskip("pyarrow").array(inputs["bytes_per_wqe"])
    assert fairlane.drum.solve_batch([problem])[0]["x"] == plain[0]["x"]
    priced = {**inputs, "segments": [[0.0, 0.1], [2.0, 0.3]]}
    del priced["Q"]
    listed = fairlane.drum.solve_batch([{"kind": "host_pwl", "inputs": priced}])
    priced["segments"] = np.array(priced["segments"])
    again = fairlane.drum.solve_batch([{"kind": "host_pwl", "inputs": priced}])
    assert again == listed
    network = fairlane.drum.random(hosts=3, applications=4, seed=3, coupled=True)
    network[0]["inputs"]["weight"] = np.array(network[0]["inputs"]["weight"])
    assert fairlane.drum.solve_batch(network, tolerance=1e-9)[0]["status"] == "optimal"


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_a_batch_starts_from_earlier_answers(engine):
    problems = fairlane.drum.random(hosts=3, applications=200, seed=2)
    cold = fairlane.drum.solve_batch(problems)
    warm = fairlane.drum.solve_batch(problems, start=[*cold[:2], None], engine=engine)
    for number, (one, other) in enumerate(zip(cold, warm)):
        assert other["objective"] == pytest.approx(one["objective"], rel=1e-12)
        assert (other["iterations"] < one["iterations"]) == (number < 2)
    with pytest.raises(ProblemError, match="start: 2 answers for 3 problems"):
        fairlane.drum.solve_batch(problems, start=cold[:2])
    with pytest.raises(ProblemError, match="start"):
        fairlane.drum.solve_batch(problems[:1], start=[{"dual_prices": 3, "rows": []}])


@pytest.mark.parametrize(
    "mode, k", [("fixed", None), ("timeshare", 3.5), ("active_set", 4), ("topk_utility", 2)]
)
def test_an_allocator_follows_changes(mode, k):
    allocator = fairlane.drum.Allocator(alpha=0.5, beta=0.1, Q=5.0, C=12.0, mode=mode, k=k)
    columns = {name: array for name, array in host().items() if name in ARRAYS}
    claims = [
        fairlane.drum.Claim(
            **{name: array[i] for name, array in columns.items()}, peak_rate=1.0, outage=-1e9
        )
        for i in range(5)
    ]
    keys = [allocator.insert(claim) for claim in claims]
    assert len(allocator) == 5 and allocator.keys() == keys
    allocator.remove(keys[1])
    allocator.update(keys[2], claims[0])
    allocator.set_capacities(Q=4.0, C=9.0)
    found = allocator.resolve()
    assert allocator.keys() == [keys[kept] for kept in [0, 4, 2, 3]]
    kept = [0, 4, 0, 3]
    arguments = {name: array[kept].copy() for name, array in columns.items()}
    if mode == "timeshare":
        arguments["peak_rate"] = np.ones(4)
    if mode == "active_set":
        arguments["outage"] = np.full(4, -1e9)
    again = solve(**arguments, alpha=0.5, beta=0.1, Q=4.0, C=9.0, mode=mode, k=k)
    assert found.objective == pytest.approx(again.objective, rel=1e-9)
    assert found.x == pytest.approx(again.x, rel=1e-5)
    with pytest.raises(KeyError, match="no such application"):
        allocator.remove(keys[1])
    with pytest.raises(KeyError):
        allocator.update(keys[1], claims[1])
    other = fairlane.drum.Allocator(alpha=0.5, Q=5.0, C=12.0)
    assert other.insert(claims[0]) != keys[0]
    with pytest.raises(KeyError):
        other.remove(keys[0])


def test_an_allocator_refuses_what_it_cannot_do():
    with pytest.raises(ProblemError, match="k: expected"):
        fairlane.drum.Allocator(alpha=1.0, Q=1.0, C=1.0, mode="active_set", k=1.5)
    with pytest.raises(ProblemError, match="mode: expected"):
        fairlane.drum.Allocator(alpha=1.0, Q=1.0, C=1.0, mode="some")
    with pytest.raises(ProblemError):
        fairlane.drum.Allocator(alpha=1.0, Q=1.0, C=1.0).resolve()
    shared = fairlane.drum.Allocator(alpha=1.0, Q=1.0, C=1.0, mode="timeshare", k=1)
    with pytest.raises(ProblemError, match="peak_rate: expected"):
        shared.insert(fairlane.drum.Claim())
    chosen = fairlane.drum.Allocator(alpha=1.0, Q=1.0, C=1.0, mode="active_set", k=1)
    with pytest.raises(ProblemError, match="outage: expected"):
        chosen.insert(fairlane.drum.Claim())


def test_applications_have_names():
    inputs = {"alpha": 1, "weight": [2, 1], "bytes_per_wqe": [1, 1], "poll_cost": [1, 1], "Q": "100Gbps", "C": None, "names": ["storage", "web"]}
    problem = {"kind": "host_timeshare", "inputs": inputs | {"k": 1, "peak_rate": np.array([1e10, 1e10])}}
    assert drum.solve_batch([problem])[0]["names"] == ["storage", "web"]
    assert [one["name"] for one in drum.schedule(problem)["applications"]] == ["storage", "web"]
    problem["inputs"]["x_min"] = [1e10, 1e10]
    with pytest.raises(ProblemError, match=r"application 0 \(storage\) gets"):
        drum.schedule(problem)

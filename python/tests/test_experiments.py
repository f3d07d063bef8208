"""Attacks, published experiments, schedules and random problems: what the commands of these names say."""

import os
import signal
from pathlib import Path

import pytest

import fairlane
from fairlane import FairlaneError, ScenarioError, drum

STAR = {"kind": "star", "hosts": 4, "host_link": {"rate": "100Gbps", "delay": "1us"}}
TENANTS = [{"name": "red", "hosts": "0,1"}, {"name": "blue", "hosts": "2,3"}]


def flow(tenant: str, source: int, destination: int) -> dict:
    flows = [{"source": source, "destination": destination, "size": "2MB"}]
    return {"kind": "flows", "tenant": tenant, "flow": flows}


SHARED = {
    "topology": STAR,
    "tenant": TENANTS,
    "switch": {"buffer": "16MB"},
    "workload": [flow("red", 0, 1), flow("blue", 2, 3)],
}


def test_an_attack_has_a_verdict() -> None:
    heard: list[tuple[str, int, int]] = []
    verdict = fairlane.attack(
        SHARED, attack="parallel", scope="qp", seeds=1, progress=lambda *begun: heard.append(begun)
    )
    (row,) = verdict.rows
    assert (row["attack"], row["scope"]) == ("parallel", "qp")
    assert row["gain"] > 0 and row["verdict"] in ("secure", "insecure", "unknown")
    assert heard and all(number <= of for _, number, of in heard)
    assert verdict.left_out == []
    again = fairlane.attack(SHARED, attack="parallel", scope="qp", seeds=1, threads=1)
    assert again.rows == verdict.rows


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"attack": "theft"}, r"attack: there is no attack \"theft\"\nhint: all, or one of"),
        ({"scope": "world"}, r"scope: there is no scope"),
        ({"attacker": "green"}, r"attacker: no tenant is called"),
        ({"attack": "paced"}, r"attack: \"paced\" needs"),
    ],
)
def test_attacks_that_cannot_be_are_refused(change: dict, words: str) -> None:
    with pytest.raises(ScenarioError, match=words):
        fairlane.attack(SHARED, seeds=1, **change)


def test_an_experiment_is_reproduced(tmp_path: Path) -> None:
    assert len(fairlane.experiments()) > 3
    (tmp_path / "base.toml").write_text(
        'topology = { kind = "star", hosts = 3, host_link = { rate = "100Gbps", delay = "1us" } }\n'
        '[[workload]]\nkind = "incast"\ndegree = 2\nsize = "64kB"\n'
    )
    (tmp_path / "experiment.toml").write_text(
        'title = "Two"\nsource = "here"\nscenario = "base.toml"\n'
        '[[axis]]\nname = "degree"\nkey = "workload.0.degree"\nvalues = [1, 2]\n'
        '[[metric]]\nname = "time"\nof = "completion"\n'
        '[[published]]\nrun = "2"\nmetric = "time"\nvalue = 1\ntolerance = 0.1\ndeviates = "why"\n'
        '[[open]]\naxis = [{ name = "hosts", key = "topology.hosts", values = [3, 4] }]\nchecks = ["2/time"]\n'
    )
    (outcome,) = fairlane.reproduce(tmp_path)
    assert outcome.title == "Two" and outcome.passes and not outcome.quick
    (check,) = outcome.checks
    assert check["verdict"] == "not reproduced" and check["expected"] and check["deviates"] == "why"
    assert check["tolerance"] == 0.1 and check["target"] is None
    (hosts,) = outcome.open
    assert hosts["values"] == ["3", "4"] and [row["run"] for row in hosts["rows"]] == ["3-2", "4-2"]
    assert hosts["checks"][0]["verdicts"] == ["not reproduced"] * 2
    assert outcome.rows.columns[:2] == ["run", "time"] and len(outcome.rows) == 2
    times = outcome.rows["time"]
    assert 0 < times[0] < times[1]
    with pytest.raises(FairlaneError, match="there is no experiment"):
        fairlane.reproduce("no-such")
    with pytest.raises(FairlaneError, match="experiment.toml"):
        fairlane.reproduce("./nowhere")


def test_ctrl_c_ends_an_attack() -> None:
    long = {**SHARED, "workload": [flow("red", 0, 1), flow("blue", 2, 3)]}
    for workload in long["workload"]:
        workload["flow"][0]["size"] = "4GB"

    def interrupt(name: str, number: int, of: int) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        fairlane.attack(long, attack="parallel", scope="qp", seeds=1, progress=interrupt)


def test_schedules_leave_nobody_out() -> None:
    [problem] = drum.random(hosts=1, applications=8, seed=5, mode="timeshare", k=3)
    plan = drum.schedule(problem, frame=24)
    assert plan["epochs"] == 24 and len(plan["active"]) == 24
    assert max(len(active) for active in plan["active"]) <= 3
    assert {number for active in plan["active"] for number in active} == set(range(8))
    assert plan["longest_wait"] <= plan["longest_wait_bound"]
    assert plan["objective"] <= plan["dual_bound"]
    assert all(row["usage"] <= row["most"] <= row["capacity"] * (1 + 1e-12) for row in plan["rows"])
    assert all(turn["rate"] <= turn["active_rate"] for turn in plan["applications"])
    taken = drum.schedule(problem, policy="reserve", reserved=1)
    assert taken["policy"] == "reserve" and taken["longest_wait"] <= taken["longest_wait_bound"]
    with pytest.raises(drum.ProblemError, match="frame: "):
        drum.schedule(problem, frame=1)
    for reserved in (0, 9):
        with pytest.raises(drum.ProblemError, match=f"reserved: {reserved} slots"):
            drum.schedule(problem, policy="reserve", reserved=reserved)
    with pytest.raises(drum.ProblemError, match="kind: missing"):
        drum.schedule({})


def test_random_problems_are_the_same_for_a_seed() -> None:
    asked = {"hosts": 2, "applications": 4, "seed": 9}
    assert drum.random(**asked) == drum.random(**asked)
    assert [problem["name"] for problem in drum.random(**asked)] == ["random-9-0", "random-9-1"]
    (network,) = drum.random(**asked, coupled=True)
    assert network["kind"] == "coupled"
    assert drum.solve_batch([network])[0]["relative_gap"] < 1e-6
    for wrong, words in [
        ({"alpha": -1.0}, "alpha: -1 is not a number"),
        ({"mode": "timeshare"}, "k: missing"),
        ({"mode": "best"}, "mode: unknown mode"),
        ({"hosts": 0}, "hosts: is 0"),
        ({"k": 5, "mode": "active_set"}, "k: 5 is not"),
    ]:
        with pytest.raises(drum.ProblemError, match=words):
            drum.random(**{**asked, **wrong})

"""Dataframe libraries take the tables, and see the same values in the same memory."""

import pytest

import fairlane

STAR = {"kind": "star", "hosts": 5, "host_link": {"rate": "100Gbps", "delay": "1us"}}
INCAST = {"topology": STAR, "workload": [{"kind": "incast", "degree": 4, "size": "256kB"}]}
TABLES = ["messages", "ports", "links", "signals", "tenants", "throughput", "pauses", "rates", "chosen", "collectives"]


@pytest.fixture(scope="module")
def run() -> fairlane.Run:
    # Messages never finish, so that there are nulls.
    return fairlane.run(INCAST, stop="50us")


@pytest.mark.parametrize("name", TABLES)
def test_polars_takes_them(run: fairlane.Run, name: str) -> None:
    polars = pytest.importorskip("polars")
    table = getattr(run, name)
    frame = polars.DataFrame(table)
    assert frame.columns == table.columns and frame.height == len(table)
    for column in table.columns:
        assert str(frame[column].to_list()[:1]) != "", column


def test_polars_shares_the_memory(run: fairlane.Run) -> None:
    polars = pytest.importorskip("polars")
    frames = [polars.DataFrame(run.messages) for _ in range(2)]
    places = [frame["size_bytes"].to_numpy(allow_copy=False).ctypes.data for frame in frames]
    assert places[0] == places[1]


def test_values_are_the_same_everywhere(run: fairlane.Run) -> None:
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pandas")
    messages = polars.DataFrame(run.messages).to_dicts()
    rows = pyarrow.table(run.messages)
    assert rows.to_pylist() == messages
    assert pyarrow.record_batch(run.messages).to_pylist() == messages
    assert pyarrow.schema(run.messages).names == run.messages.columns
    assert list(rows.to_pandas()["size_bytes"]) == list(run.messages["size_bytes"])
    total = duckdb.sql("select sum(size_bytes), max(outcome) from rows").fetchall()
    assert total == [(4 * 256_000, max(run.messages["outcome"]))]


def test_chosen_ports_and_collectives_are_tables() -> None:
    reduce = {"kind": "collective", "operation": "all-reduce", "algorithm": "ring", "size": "1MB", "rounds": 2}
    output = {"sample_interval": "1us", "ports": ["switch:5/port:1", "host:0"]}
    run = fairlane.run({"topology": STAR, "workload": [reduce], "output": output})
    assert run.chosen.columns == run.ports.columns
    assert set(zip(run.chosen["node"], run.chosen["port"], strict=True)) == {(0, 1), (5, 1)}
    assert list(run.chosen["time_ps"])[2] - list(run.chosen["time_ps"])[0] == 1_000_000
    table = run.collectives
    assert list(table["operation"]) == ["all-reduce"] * 2 and list(table["step"]) == [0, 1]
    assert all(bandwidth > 0 for bandwidth in table["bus_gbps"])


def test_a_table_outlives_its_run() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(fairlane.run(INCAST).messages)
    assert frame["size_bytes"].sum() == 4 * 256_000


def test_comparison_is_tidy() -> None:
    runs = {name: fairlane.run(INCAST, congestion__algorithm=name) for name in ("dcqcn", "swift")}
    table = fairlane.compare(runs)
    assert table.columns == ["run", "seed", "metric", "value"]
    columns = [table[name] for name in ("run", "metric", "value")]
    rows = {(name, metric): value for name, metric, value in zip(*columns)}
    for name, run in runs.items():
        assert rows[name, "slowdown.max"] == run.summary["slowdown"]["max"]
        assert rows[name, "messages"] == 4
    assert not any(metric.startswith("host.") for _, metric in rows)
    assert len(fairlane.compare([])) == 0


def test_plots_draw_on_what_they_are_given() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    run = fairlane.run(INCAST)
    plot = fairlane.plot
    for draw in (plot.slowdown_by_size, plot.cdf, plot.queue, plot.throughput, plot.fabric):
        figure, ax = pyplot.subplots()
        assert draw(run, ax) is ax
        assert ax.get_xlabel() and ax.get_ylabel()
        assert ax.lines or ax.images
        figure.canvas.draw()
        pyplot.close(figure)
    ax = plot.queue(run, port_id=0)
    assert plot.throughput(run, ax, port_id=0) is ax
    # A second run on the same axes is shown whole.
    _, ax = pyplot.subplots()
    for degree in (1, 4):
        plot.queue(fairlane.run(INCAST, **{"workload.0.degree": degree}), ax)
    assert ax.get_ylim()[0] == 0
    assert ax.get_ylim()[1] >= max(max(line.get_ydata()) for line in ax.lines)
    pyplot.close("all")


def test_means_are_drawn_with_bands() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    jitter = {**INCAST, "workload": [{**INCAST["workload"][0], "jitter": "5us"}]}
    axes = {"congestion.algorithm": ["dcqcn", "swift"], "workload.0.degree": [1, 2, 4]}
    sweep = fairlane.sweep(jitter, axes, seeds=2, metrics=["slowdown.max", "goodput_gbps"])
    figure, ax = pyplot.subplots()
    assert fairlane.plot.means(sweep, "slowdown.max", ax) is ax
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("workload.0.degree", "slowdown.max")
    assert [line.get_label() for line in ax.lines] == ["dcqcn", "swift"]
    table = sweep.means
    means = [mean for mean, metric in zip(table["mean"], table["metric"]) if metric == "slowdown.max"]
    assert list(ax.lines[0].get_ydata()) == means[:3] and list(ax.lines[0].get_xdata()) == [1, 2, 4]
    assert len(ax.collections) == 2
    words = fairlane.plot.means(sweep, x="congestion.algorithm")
    assert [label.get_text() for label in words.get_xticklabels()] == ["dcqcn", "swift"]
    assert [line.get_label() for line in words.lines] == ["1", "2", "4"]
    with pytest.raises(KeyError, match="no metric"):
        fairlane.plot.means(sweep, "speed")
    pyplot.close("all")

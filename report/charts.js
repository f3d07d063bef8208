// Line charts on uPlot: looks, axes, legends and the toggle of the slowdown chart.
"use strict";

const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
const TIME_SYNC = "time";

/** A colour of the page's theme. */
function themeColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** An axis in the page's looks; `extra` adds to it or overrides it. */
function axis(label, extra) {
  return {
    label,
    font: FONT,
    labelFont: FONT,
    labelSize: 18,
    labelGap: 2,
    size: 30,
    stroke: themeColour("muted"),
    grid: { stroke: themeColour("grid"), width: 1 },
    ticks: { stroke: themeColour("grid"), width: 1, size: 4 },
    gap: 4,
    ...extra,
  };
}

/** A vertical axis wide enough for its longest label. */
function sideAxis(label, format, extra) {
  const values = (_, splits) => splits.map((split) => (split === null ? "" : format(split)));
  return axis(label, { size: 66, values, ...extra });
}

/** 1, 2, 5 in each decade between two values, or only powers of ten if that would be crowded. */
function logSplits(low, high) {
  const decades = Math.log10(high / low);
  const steps = decades > 3 ? [1] : decades > 1.5 ? [1, 3] : [1, 2, 5];
  const splits = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const step of steps) splits.push(step * 10 ** power);
  }
  return splits.filter((split) => split >= low * 0.999 && split <= high * 1.001);
}

function logAxis(base) {
  return { ...base, splits: (_, __, low, high) => logSplits(low, high), filter: (_, splits) => splits };
}

function line(label, colour, value, extra) {
  return {
    label,
    stroke: themeColour(colour),
    width: 2,
    points: { show: false },
    value: (_, raw) => (raw === null || raw === undefined ? "" : value(raw)),
    ...extra,
  };
}

/** A vertical cursor with a filled point on each line. */
function cursor(extra) {
  const colour = (chart, place) => chart.series[place].stroke(chart, place);
  return { y: false, points: { size: 8, fill: colour, stroke: colour }, ...extra };
}

/** The same colour, nearly transparent. */
function wash(colour) {
  return `${themeColour(colour)}26`;
}

/** A chart that fills `host` and follows its width. */
function makeChart(host, options, data) {
  host.textContent = "";
  const size = () => ({ width: Math.max(240, host.clientWidth), height: host.classList.contains("tall") ? 330 : 230 });
  const chart = new uPlot({ padding: [12, 14, 0, 0], ...size(), ...options }, data, host);
  const observer = new ResizeObserver(() => {
    if (host.clientWidth && host.clientWidth !== chart.width) chart.setSize(size());
  });
  observer.observe(host);
  return { chart, close: () => { observer.disconnect(); chart.destroy(); } };
}

/** What a panel says where there is nothing to draw. */
function showEmpty(host, text) {
  const note = document.createElement("p");
  note.className = "empty";
  note.textContent = text;
  host.replaceChildren(note);
  return null;
}

// Slowdown ---------------------------------------------------------------------------------------

const PERCENTILES = [["p50", "p50"], ["p95", "p95"], ["p99", "p99"], ["p999", "p99.9"]];
const PERCENTILE_COLOURS = ["series-1", "series-2", "series-3", "series-4"];

function slowdownSeries(bins) {
  const size = {
    label: "up to",
    value: (_, place) => {
      const bin = bins[place];
      return bin ? `${formatBytes(bin.size)} (${formatCount(bin.count)} messages)` : "";
    },
  };
  const lines = PERCENTILES.map(([, label], place) =>
    line(label, PERCENTILE_COLOURS[place], formatTimes, { points: { show: true, size: 6, fill: themeColour("surface") } }));
  return [size, ...lines];
}

/** Every bin's label if there is room, else every second, third ... */
function binSplits(chart, count) {
  const room = Math.max(1, chart.bbox.width / devicePixelRatio / 58);
  const step = Math.ceil(count / room);
  return Array.from({ length: count }, (_, place) => place).filter((place) => (count - 1 - place) % step === 0);
}

function slowdownChart(host, bins, scale) {
  if (bins.length === 0) return showEmpty(host, "No message completed.");
  const log = scale === "log";
  const vertical = sideAxis("slowdown", formatTimes);
  const options = {
    scales: {
      x: { time: false, range: () => [-0.5, bins.length - 0.5] },
      y: log ? { distr: 3, range: (_, __, high) => [0.9, Math.max(2, high * 1.25)] } : { range: (_, __, high) => [0, Math.max(2, high * 1.08)] },
    },
    axes: [
      axis("message size", {
        splits: (chart) => binSplits(chart, bins.length),
        values: (_, splits) => splits.map((place) => formatBytes(bins[place].size, 2)),
      }),
      log ? logAxis(vertical) : vertical,
    ],
    cursor: cursor({ drag: { x: false, y: false } }),
    series: slowdownSeries(bins),
  };
  const columns = PERCENTILES.map(([key]) => bins.map((bin) => bin[key]));
  return makeChart(host, options, [bins.map((_, place) => place), ...columns]);
}

// Distributions ----------------------------------------------------------------------------------

/** Where the axis of shares starts: at 0, or just below a curve that starts in the upper half. */
function shareFloor(first) {
  return first < 0.5 ? 0 : Math.max(0.5, Math.min(0.9, Math.floor(first * 10) / 10));
}

function distributionChart(host, distribution, { label, format, colour, empty }) {
  const { value, share } = distribution;
  if (value.length === 0) return showEmpty(host, empty);
  const low = value[0], high = Math.max(value[value.length - 1], low * 10);
  const floor = shareFloor(share[0]);
  const quarters = [0, 1, 2, 3, 4].map((part) => floor + ((1 - floor) * part) / 4);
  const horizontal = axis(label, { values: (_, splits) => splits.map((split) => format(split)) });
  const options = {
    scales: { x: { time: false, distr: 3, range: () => [low, high] }, y: { range: () => [floor, 1 + (1 - floor) * 0.02] } },
    axes: [logAxis(horizontal), sideAxis("share at most", (part) => formatShare(part, 4), { splits: () => quarters })],
    cursor: cursor({ drag: { x: false, y: false } }),
    series: [
      { label: "at most", value: (_, raw) => (raw === null || raw === undefined ? "" : format(raw)) },
      line("share of all", colour, (part) => formatShare(part, 4), { fill: wash(colour) }),
    ],
  };
  return makeChart(host, options, [value, share]);
}

// Over time --------------------------------------------------------------------------------------

/** Starts of the intervals, with the end of the last one so that its step is drawn. */
function intervalStarts(series) {
  return Array.from({ length: series.marks.length + 1 }, (_, place) => series.start_ns + place * series.step_ns);
}

/** Repeats the last value at the end of the last interval. */
function stepped(values) {
  return [...values, values[values.length - 1]];
}

function timeSeries() {
  return { label: "at", value: (_, ns) => (ns === null || ns === undefined ? "" : formatTime(ns, 4)) };
}

function timeAxis(span) {
  const [name, factor] = unitFor(span, TIME_UNITS);
  const values = (_, splits) => splits.map((split) => plain(split / factor, 4));
  return axis(`time (${name})`, { values, incrs: timeIncrements() });
}

function timeIncrements() {
  const steps = [];
  for (let power = 0; power <= 13; power++) for (const step of [1, 2, 2.5, 5]) steps.push(step * 10 ** power);
  return steps;
}

function steppedLine(label, colour, format, extra) {
  return line(label, colour, format, { paths: uPlot.paths.stepped({ align: 1 }), width: 1.5, fill: wash(colour), ...extra });
}

/** The top of a scale that starts at 0. */
function fromZero(floor) {
  return (_, __, high) => [0, Math.max(floor, (high ?? 0) * 1.08)];
}

/** A range of time as asked for, but from 0 if it begins with the data and those begin just after 0. */
function fromOrigin(times) {
  const first = times[0], last = times[times.length - 1];
  return (_, low, high) => [low === first && first < last * 0.02 ? 0 : low, high];
}

/** A chart over time; `lines` are values, series, scale range and side axis; without the last two, those of the first. `hooks` are uPlot's. */
function timeChart(host, series, lines, hooks = {}) {
  const times = intervalStarts(series);
  const scales = { x: { time: false, range: fromOrigin(times) } };
  const axes = [timeAxis(times[times.length - 1])];
  lines.forEach(({ range, side }, place) => {
    if (!side) return;
    scales[`y${place}`] = { range };
    axes.push({ ...side, scale: `y${place}`, side: place === 0 ? 3 : 1, grid: place === 0 ? side.grid : { show: false } });
  });
  const options = {
    scales,
    axes,
    hooks,
    cursor: cursor({ sync: { key: TIME_SYNC, setSeries: false }, drag: { x: true, y: false } }),
    series: [timeSeries(), ...lines.map(({ series: one, side }, place) => ({ ...one, scale: side ? `y${place}` : "y0" }))],
  };
  return makeChart(host, options, [times, ...lines.map(({ values }) => stepped(values))]);
}

// Line charts on uPlot: looks, axes, scales, overlays, downloads.
"use strict";

const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
const TIME_SYNC = "time";
const LINE_COLOURS = ["series-1", "series-4", "series-2", "series-5", "series-3", "series-6"];

/** The look of the line of a number: after six colours again the first, dashed. */
function lineLook(number) {
  const round = Math.floor(number / LINE_COLOURS.length);
  return { colour: LINE_COLOURS[number % LINE_COLOURS.length], dash: round === 0 ? undefined : [6 / round, 4] };
}

/** A colour of the page's theme. */
function themeColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** The same colour, nearly transparent. */
function wash(colour) {
  return `${themeColour(colour)}26`;
}

/** The page's ramp at 0 to 1, as red, green and blue. */
function rampAt(part) {
  const stops = themeColour("ramp").split(/\s+/).map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  const at = Math.min(1, Math.max(0, part)) * (stops.length - 1);
  const first = Math.min(stops.length - 2, Math.floor(at));
  return stops[first].map((value, place) => Math.round(value + (stops[first + 1][place] - value) * (at - first)));
}

// Axes and scales --------------------------------------------------------------------------------

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

/** Labels of an axis by a format. */
function labels(format) {
  return (_, splits) => splits.map((split) => (split === null ? "" : format(split)));
}

/** A vertical axis wide enough for its longest label. */
function sideAxis(label, format, extra) {
  return axis(label, { size: 66, values: labels(format), ...extra });
}

/** A step of 1, 2 or 5 times a power of ten that divides a span into four parts or so. */
function niceStep(span) {
  const power = 10 ** Math.floor(Math.log10(span / 4));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => span / step <= 5.5);
}

/**
 * 1, 2, 5 in each decade between two values, or only powers of ten if that would be crowded; even steps where these
 * are too few. */
function logSplits(low, high) {
  const decades = Math.log10(high / low);
  const steps = decades > 3 ? [1] : decades > 1.5 ? [1, 3] : [1, 2, 5];
  let splits = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const step of steps) splits.push(step * 10 ** power);
  }
  splits = splits.filter((split) => split >= low * 0.999 && split <= high * 1.001);
  if (splits.length > 2) return splits;
  const step = niceStep(high - low);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, place) => (first + place) * step);
}

function logAxis(base) {
  return { ...base, splits: (_, __, low, high) => logSplits(low, high), filter: (_, splits) => splits };
}

/** The least and greatest of what is drawn, or nothing. */
function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value === null || value === undefined || !Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low > high ? null : [low, high];
}

/** A scale for figures: linear from 0 unless they stay far from it, or logarithmic. */
function figureScale(values, log) {
  const found = extent(log ? values.filter((value) => value > 0) : values);
  if (!found) return { range: () => [0, 1] };
  const [low, high] = found;
  if (log) return { distr: 3, range: () => [low / 1.2, Math.max(high, low * 1.01) * 1.2] };
  const margin = (high - low) * 0.08 || Math.abs(high) * 0.05 || 1;
  const bottom = low >= 0 && low < high * 0.6 ? 0 : low - margin;
  return { range: () => [low >= 0 ? Math.max(0, bottom) : bottom, high + margin] };
}

/** The top of a scale that starts at 0. */
function fromZero(floor) {
  return (_, __, high) => [0, Math.max(floor, (high ?? 0) * 1.08)];
}

// Lines ------------------------------------------------------------------------------------------

/** `shape`, `wash` and `dots` are what a drawing as SVG has to know; `unit` is what a table says. */
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

/** A line with points, filled in the colour of the line or of the surface. */
function dotted(size, fill) {
  return { points: { show: true, size, fill: themeColour(fill) }, dots: true };
}

/** A mean as a line, with series for the edges of its band behind it. */
function bandSeries(name, look, format, points) {
  const edge = (end) => ({ label: `${name}, ${end}`, class: "edge", stroke: "transparent", points: { show: false }, width: 0 });
  return [line(name, look.colour, format, { dash: look.dash, ...(points && dotted(7, look.colour)) }), edge("low"), edge("high")];
}

/** Bands between the second and third series of each three. */
function bandsOf(looks) {
  return looks.map((look, place) => ({ series: [3 * place + 3, 3 * place + 2], fill: wash(look.colour) }));
}

/** A vertical cursor with a filled point on each line. */
function cursor(extra) {
  const colour = (chart, place) => chart.series[place].stroke(chart, place);
  return { y: false, points: { size: 8, fill: colour, stroke: colour }, ...extra };
}

// Charts -----------------------------------------------------------------------------------------

/** What a chart has drawn, as rows: the places along x, and a column for each line. */
function rowsOf(chart) {
  const heads = chart.series.map(({ label, unit }) => (unit ? `${label} (${unit})` : label));
  return [heads, ...chart.data[0].map((_, row) => chart.data.map((column) => column[row]))];
}

/** Hands an overlay to the canvas of a chart, in pixels of the page. */
function onCanvas(overlay) {
  return (chart) => {
    const pen = chart.ctx, plot = plotOf(chart);
    pen.save();
    pen.scale(devicePixelRatio, devicePixelRatio);
    pen.beginPath();
    pen.rect(plot.left, plot.top, plot.width, plot.height);
    pen.clip();
    overlay(pen, placer(chart), plot, chart);
    pen.restore();
  };
}

/**
 * A chart that fills `host`, follows its width and can be downloaded. `under` and `overlays` draw below and above the
 * lines with a pen, a function from values to pixels, and the place of the plot; `rows` says what a table has.
 */
function makeChart(host, { under = [], overlays = [], rows = rowsOf, ...options }, data) {
  host.textContent = "";
  const size = () => ({ width: Math.max(240, host.clientWidth), height: host.classList.contains("tall") ? 330 : 230 });
  const hooks = { drawClear: under.map(onCanvas), draw: overlays.map(onCanvas) };
  const chart = new uPlot({ padding: [12, 14, 0, 0], ...size(), ...options, hooks }, data, host);
  Object.assign(chart, { under, overlays, rows: () => rows(chart) });
  const fit = () => {
    if (host.clientWidth && host.clientWidth !== chart.width && host.contains(chart.root)) chart.setSize(size());
  };
  // Later, as a new size while sizes are told would have to be told in turn.
  const observer = new ResizeObserver(() => requestAnimationFrame(fit));
  observer.observe(host);
  const heading = host.closest(".panel")?.querySelector("h3")?.textContent ?? host.id;
  offerDownloads(host, host.id.replace(/^chart-/, "") || heading, { svg: () => chartSvg(chart), csv: () => csvText(chart.rows()) });
  return { chart, close: () => { observer.disconnect(); chart.destroy(); } };
}

/** What a panel says where there is nothing to draw. */
function showEmpty(host, text) {
  host.replaceChildren(element("p", text, "empty"));
  offerDownloads(host, "", null);
  return null;
}

/** Every label if there is room, else every second, third ... */
function binSplits(chart, count) {
  const room = Math.max(1, chart.bbox.width / devicePixelRatio / 58);
  const step = Math.ceil(count / room);
  return Array.from({ length: count }, (_, place) => place).filter((place) => (count - 1 - place) % step === 0);
}

// Slowdown ---------------------------------------------------------------------------------------

const PERCENTILES = [["p50", "p50"], ["p95", "p95"], ["p99", "p99"], ["p999", "p99.9"]];
const PERCENTILE_COLOURS = ["series-1", "series-2", "series-3", "series-4"];

/** Percentiles by name, those that are the same in all bins as one; without those that no bin has. */
function percentileLines(bins) {
  const lines = [];
  PERCENTILES.forEach(([key, name], place) => {
    const values = bins.map((bin) => bin[key] ?? null);
    if (values.every((value) => value === null)) return;
    const same = lines.find((one) => one.values.every((value, at) => value === values[at]));
    if (same) same.name += `, ${name}`;
    else lines.push({ name, values, colour: PERCENTILE_COLOURS[place] });
  });
  return lines;
}

function slowdownSeries(bins, lines) {
  const size = {
    label: "up to",
    value: (_, place) => {
      const bin = bins[place];
      return bin ? `${formatBytes(bin.size)} (${formatCount(bin.count)} messages)` : "";
    },
  };
  // A class of few messages lacks high percentiles.
  const value = (_, slowdown, __, place) => (place === null ? "" : slowdown === null ? "–" : formatTimes(slowdown));
  return [size, ...lines.map(({ name, colour }) => line(name, colour, formatTimes, { ...dotted(6, "surface"), value }))];
}

function slowdownRows(bins) {
  const row = (bin) => [bin.size, bin.count, ...PERCENTILES.map(([key]) => bin[key])];
  return [["size_bytes", "messages", ...PERCENTILES.map(([, name]) => name)], ...bins.map(row)];
}

function slowdownChart(host, bins, scale) {
  if (bins.length === 0) return showEmpty(host, "No message completed.");
  const log = scale === "log";
  const vertical = sideAxis("slowdown", formatTimes);
  const lines = percentileLines(bins);
  if (lines.length === 0) return showEmpty(host, "Too few messages completed for a percentile.");
  const options = {
    scales: {
      x: { time: false, range: () => [-0.5, bins.length - 0.5] },
      y: figureScale(lines.flatMap(({ values }) => values), log),
    },
    axes: [
      axis("message size", {
        splits: (chart) => binSplits(chart, bins.length),
        values: (_, splits) => splits.map((place) => formatBytes(bins[place].size, 2)),
      }),
      log ? logAxis(vertical) : vertical,
    ],
    cursor: cursor({ drag: { x: false, y: false } }),
    series: slowdownSeries(bins, lines),
    rows: () => slowdownRows(bins),
  };
  return makeChart(host, options, [bins.map((_, place) => place), ...lines.map(({ values }) => values)]);
}

// Distributions ----------------------------------------------------------------------------------

/** Where the axis of shares starts: at 0, or just below curves that start in the upper half. */
function shareFloor(first) {
  return first < 0.5 ? 0 : Math.max(0.5, Math.min(0.9, Math.floor(first * 10) / 10));
}

/**
 * Distribution functions: values at ascending shares. `lines` have `name`, `look`, `mean` and perhaps `low` and `high`,
 * the edges of a band.
 */
function distributionChart(host, shares, lines, { label, unit, format, empty }) {
  const drawn = lines.filter(({ mean }) => mean.length > 0);
  const found = extent(drawn.flatMap(({ mean, low = mean, high = mean }) => [...low, ...high]).filter((value) => value > 0));
  if (!found) return showEmpty(host, empty);
  const low = found[0], high = Math.max(found[1], low * 1.02);
  const isLog = high / low > 8;
  const margin = (high - low) * 0.05;
  const range = isLog ? [low, high] : [Math.max(0, low - margin), high + margin];
  const floor = shareFloor(shares[0]);
  const quarters = [0, 1, 2, 3, 4].map((part) => floor + ((1 - floor) * part) / 4);
  const horizontal = axis(label, { scale: "value", side: 2, space: 76, values: labels(format) });
  const banded = drawn.every((one) => one.low);
  const series = (name, look) => (banded ? bandSeries(name, look, format, false) : [line(name, look.colour, format, { dash: look.dash })]);
  const options = {
    scales: {
      x: { time: false, ori: 1, dir: 1, range: () => [floor, 1 + (1 - floor) * 0.02] },
      value: { ori: 0, dir: 1, distr: isLog ? 3 : 1, range: () => range },
    },
    axes: [
      sideAxis("share at most", (part) => formatShare(part, 4), { scale: "x", side: 3, splits: () => quarters }),
      isLog ? logAxis(horizontal) : horizontal,
    ],
    cursor: cursor({ x: false, y: true, drag: { x: false, y: false } }),
    bands: banded ? bandsOf(drawn.map(({ look }) => look)) : [],
    series: [
      { label: "share", value: (_, raw) => (raw === null || raw === undefined ? "" : formatShare(raw, 4)) },
      ...drawn.flatMap(({ name, look }) => series(name, look).map((one) => ({ ...one, scale: "value", unit }))),
    ],
  };
  const positive = (values) => values.map((value) => Math.max(value, isLog ? low : 0));
  const columns = drawn.flatMap((one) => (banded ? [one.mean, one.low, one.high] : [one.mean]).map(positive));
  return makeChart(host, options, [shares, ...columns]);
}

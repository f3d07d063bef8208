// Charts of many runs: lines with bands, dots with intervals, distributions, maps of two axes.
"use strict";

/** More values of an axis than this don't each have a tick. */
const MOST_TICKS = 10;

/** How a figure is written, by the unit at the end of its name. */
function formatterOf(name) {
  if (/_ns(\.|$)/.test(name)) return (value) => formatTime(value, 4);
  if (/_us(\.|$)/.test(name)) return (value) => formatTime(value * 1e3, 4);
  if (/_gbps(\.|$)/.test(name)) return (value) => formatGbps(value, 4);
  if (/bytes(\.|_|$)/.test(name)) return (value) => formatBytes(value, 4);
  if (/slowdown/.test(name)) return formatTimes;
  return (value) => (Math.abs(value) >= 1e5 ? inUnits(value, PREFIXES, "", 4) : Math.abs(value) < 1e-6 && value !== 0 ? value.toExponential(2) : plain(value, 4));
}

const FORMATS = {
  plain: (value) => plain(value, 4),
  time: (value) => formatTime(value, 4),
  micros: (value) => formatTime(value * 1e3, 4),
  bytes: (value) => formatBytes(value, 4),
  times: formatTimes,
  share: (value) => formatShare(value, 4),
  gbps: (value) => formatGbps(value, 4),
};

/** Draws means as dots with whiskers of intervals, for axes that have no lines between their values. */
function whiskers(lines) {
  return (pen, at, _, chart) => {
    lines.forEach(({ look, low, high }, place) => {
      pen.strokeStyle = pen.fillStyle = themeColour(look.colour);
      pen.lineWidth = 2;
      chart.data[0].forEach((x, row) => {
        if (low[row] === null || high[row] === null) return;
        const left = at(x + whiskerShift(place, lines.length), "x");
        pen.beginPath();
        pen.moveTo(left, at(low[row], "y"));
        pen.lineTo(left, at(high[row], "y"));
        pen.stroke();
        pen.beginPath();
        pen.arc(left, at(chart.data[3 * place + 1][row], "y"), 4, 0, 2 * Math.PI);
        pen.fill();
      });
    });
  };
}

/** Several dots at one place stand side by side. */
function whiskerShift(place, count) {
  return count < 2 ? 0 : ((place / (count - 1)) - 0.5) * Math.min(0.5, 0.1 * count);
}

/**
 * Means over an axis. `axis` has `name`, `values` and perhaps `numbers`; `lines` have `name`, `look`, and by value
 * `mean`, `low`, `high`.
 */
function meansChart(host, axisOf, lines, { format, log }) {
  const all = lines.flatMap(({ mean, low, high }) => [...mean, ...low, ...high]);
  if (extent(all) === null) return showEmpty(host, "Not defined in any run.");
  const numbers = axisOf.numbers;
  const order = axisOf.values.map((_, place) => place);
  if (numbers) order.sort((a, b) => numbers[a] - numbers[b]);
  const xs = numbers ? order.map((place) => numbers[place]) : order;
  const spread = xs[xs.length - 1] / xs[0];
  const isLog = numbers && xs[0] > 0 && xs.length > 3 && spread >= 30;
  const pick = (values) => order.map((place) => values[place] ?? null);
  const ticks = numbers
    ? { splits: xs.length > MOST_TICKS ? undefined : () => xs, filter: (_, splits) => splits, values: (_, splits) => splits.map((x) => (x === null ? "" : shortNumber(axisOf, x))) }
    : { splits: (chart) => binSplits(chart, xs.length), values: (_, splits) => splits.map((place) => axisOf.values[place] ?? "") };
  const margin = numbers ? ((xs[xs.length - 1] - xs[0]) * 0.03 || Math.abs(xs[0]) * 0.1 || 1) : 0.5;
  const horizontal = axis(axisOf.name, ticks);
  const vertical = sideAxis(undefined, format);
  const data = [xs, ...lines.flatMap(({ mean, low, high }) => [mean, low, high].map(pick))];
  const picked = lines.map(({ look, low, high }) => ({ look, low: pick(low), high: pick(high) }));
  const options = {
    scales: {
      x: { time: false, distr: isLog ? 3 : 1, range: () => (isLog ? [xs[0] / 1.1, xs[xs.length - 1] * 1.1] : [xs[0] - margin, xs[xs.length - 1] + margin]) },
      y: figureScale(all, log),
    },
    axes: [isLog && xs.length > MOST_TICKS ? logAxis(horizontal) : horizontal, log ? logAxis(vertical) : vertical],
    cursor: cursor({ drag: { x: false, y: false }, points: { show: Boolean(numbers), size: 8 } }),
    bands: numbers ? bandsOf(lines.map(({ look }) => look)) : [],
    overlays: numbers ? [] : [whiskers(picked)],
    rows: () => meansRows(axisOf, order, lines),
    series: [
      { label: axisOf.name, value: (_, x) => (x === null || x === undefined ? "" : numbers ? shortNumber(axisOf, x) : axisOf.values[x]) },
      ...lines.flatMap(({ name, look }) => {
        const [mean, ...edges] = bandSeries(name, look, format, Boolean(numbers));
        return [numbers ? mean : { ...mean, paths: () => null, shape: "none" }, ...edges];
      }),
    ],
  };
  return makeChart(host, options, data);
}

/** What a table says of means: a row for each value of the axis. */
function meansRows(axisOf, order, lines) {
  const heads = lines.flatMap(({ name }) => [name, `${name}, low`, `${name}, high`]);
  const row = (place) => [axisOf.values[place], ...lines.flatMap(({ mean, low, high }) => [mean[place], low[place], high[place]])];
  return [[axisOf.name, ...heads], ...order.map(row)];
}

/** A value of an axis as the file writes it, if it has one there. */
function shortNumber(axisOf, x) {
  const place = axisOf.numbers.indexOf(x);
  if (place >= 0) return axisOf.values[place];
  return Math.abs(x) >= 1e4 ? inUnits(x, PREFIXES, "", 3) : plain(x, 4);
}

/** A span, or one around what is a single value. */
function spread([low, high], log) {
  if (low < high) return [low, high];
  const room = Math.abs(low) / 2 || 1;
  return log ? [low / 2, high * 2] : [low - room, high + room];
}

/** Curves that have places along x of their own: `x`, `y`, and `low` and `high` where there is a band. */
function curvesChart(host, lines, { x, y, stepped }) {
  const drawn = lines.filter((one) => one.x.length > 0);
  if (drawn.length === 0) return showEmpty(host, "Nothing to draw.");
  const banded = drawn.some(({ low }) => low.some((value) => value !== null));
  const data = uPlot.join(drawn.map((one) => (banded ? [one.x, one.y, one.low, one.high] : [one.x, one.y])));
  const lineOf = ({ name, look }) =>
    line(name, look.colour, FORMATS[y.format], { dash: look.dash, spanGaps: true, ...(!stepped && dotted(6, "surface")) });
  const edgesOf = ({ name, look }) => bandSeries(name, look, FORMATS[y.format], false).slice(1).map((edge) => ({ ...edge, spanGaps: true }));
  const horizontal = axis(x.name, { space: 76, values: labels(FORMATS[x.format]) });
  const vertical = sideAxis(y.name, FORMATS[y.format]);
  const xs = spread(extent(data[0]), x.log);
  const options = {
    scales: {
      x: { time: false, distr: x.log ? 3 : 1, range: (_, low, high) => (x.log ? xs : [low ?? xs[0], high ?? xs[1]]) },
      y: figureScale(drawn.flatMap((one) => [...one.y, ...one.low, ...one.high]), y.log),
    },
    bands: banded ? bandsOf(drawn.map(({ look }) => look)) : [],
    axes: [x.log ? logAxis(horizontal) : horizontal, y.log ? logAxis(vertical) : vertical],
    cursor: cursor({ drag: { x: !x.log, y: false } }),
    series: [
      { label: x.name, value: (_, raw) => (raw === null || raw === undefined ? "" : FORMATS[x.format](raw)) },
      ...drawn.flatMap((one) => (banded ? [lineOf(one), ...edgesOf(one)] : [lineOf(one)])),
    ],
  };
  return makeChart(host, options, data);
}

/** A colour of the page's ramp, for 0 to 1, and one for words on it. */
function rampColour(part) {
  const [red, green, blue] = rampAt(part);
  return [`rgb(${red} ${green} ${blue})`, 0.3 * red + 0.59 * green + 0.11 * blue > 140 ? "#111418" : "#ffffff"];
}

/** A map of two axes as a table; `figure(row, column)` is a number or nothing, `range` that of all maps. */
function heatMap(across, down, figure, format, [low, high]) {
  const table = document.createElement("table");
  table.className = "heat";
  const cell = (row, kind, text) => {
    const made = document.createElement(kind);
    made.textContent = text;
    row.append(made);
    return made;
  };
  const head = table.createTHead().insertRow();
  cell(head, "th", `${down.name} \\ ${across.name}`);
  across.values.forEach((name) => cell(head, "th", name));
  const body = table.createTBody();
  down.values.forEach((name, row) => {
    const line = body.insertRow();
    cell(line, "th", name);
    across.values.forEach((_, column) => {
      const value = figure(row, column);
      const made = cell(line, "td", value === null ? "–" : format(value));
      if (value === null) return;
      const isLog = low > 0 && high / low > 20;
      const part = high === low ? 0.5 : isLog ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
      [made.style.background, made.style.color] = rampColour(part);
    });
  });
  return table;
}

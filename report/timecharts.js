// Charts over time, which share a cursor and show the same span.
"use strict";

/** Starts of the intervals, with the end of the last one so that its step is drawn. */
function intervalStarts({ start_ns: start, step_ns: step, count }) {
  return Array.from({ length: count + 1 }, (_, place) => start + place * step);
}

/** Repeats the last value at the end of the last interval. */
function stepped(values) {
  return [...values, values[values.length - 1]];
}

function timeSeries() {
  return { label: "time", unit: "ns", value: (_, ns) => (ns === null || ns === undefined ? "" : formatTime(ns, 4)) };
}

function timeIncrements() {
  const steps = [];
  for (let power = 0; power <= 13; power++) for (const step of [1, 2, 2.5, 5]) steps.push(step * 10 ** power);
  return steps;
}

/** An axis of time whose unit suits what is shown. */
function timeAxis() {
  const unit = (chart) => unitFor(Math.max(Math.abs(chart.scales.x.min), Math.abs(chart.scales.x.max)), TIME_UNITS);
  const values = (chart, splits) => splits.map((split) => plain(split / unit(chart)[1], 4));
  return axis((chart) => `time (${unit(chart)[0]})`, { values, incrs: timeIncrements() });
}

function steppedLine(label, colour, format, extra) {
  const shade = extra && "fill" in extra ? extra.fill : wash(colour);
  return line(label, colour, format, { paths: uPlot.paths.stepped({ align: 1 }), shape: "stepped", width: 1.5, fill: shade, wash: shade, ...extra });
}

/** A range of time as asked for, but from 0 if it begins with the data and those begin just after 0. */
function fromOrigin(times) {
  const first = times[0], last = times[times.length - 1];
  return (_, low, high) => [low === first && first < last * 0.02 ? 0 : low, high];
}

/** Draws when links fail and come back. */
function faultMarks(faults) {
  return (pen, at, { top, height }) => {
    pen.lineWidth = 1.5;
    for (const { time_ns: time, up } of faults) {
      const x = at(time, "x");
      pen.strokeStyle = pen.fillStyle = themeColour(up ? "good" : "bad");
      pen.setLineDash([4, 3]);
      pen.beginPath();
      pen.moveTo(x, top);
      pen.lineTo(x, top + height);
      pen.stroke();
      pen.setLineDash([]);
      pen.beginPath();
      pen.moveTo(x - 5, top + (up ? 8 : 0));
      pen.lineTo(x + 5, top + (up ? 8 : 0));
      pen.lineTo(x, top + (up ? 0 : 8));
      pen.closePath();
      pen.fill();
    }
  };
}

/**
 * A chart over time. `time` is `start_ns`, `step_ns`, `count` and `faults`; `lines` are values, series, scale range and
 * side axis; without the last two, those of the first.
 */
function timeChart(host, time, lines, under = []) {
  const times = intervalStarts(time);
  const scales = { x: { time: false, range: fromOrigin(times) } };
  const axes = [timeAxis()];
  lines.forEach(({ range, side }, place) => {
    if (!side) return;
    scales[`y${place}`] = { range };
    axes.push({ ...side, scale: `y${place}`, side: place === 0 ? 3 : 1, grid: place === 0 ? side.grid : { show: false } });
  });
  const options = {
    scales,
    axes,
    under,
    overlays: time.faults.length > 0 ? [faultMarks(time.faults)] : [],
    cursor: cursor({ sync: { key: TIME_SYNC, setSeries: false }, drag: { x: true, y: false } }),
    series: [timeSeries(), ...lines.map(({ series: one, side }, place) => ({ ...one, scale: side ? `y${place}` : "y0" }))],
  };
  return makeChart(host, options, [times, ...lines.map(({ values }) => stepped(values))]);
}

/** A share of the bytes that may lie outside of the action. */
const QUIET_SHARE = 0.01;

/**
 * The span in which all but a hundredth of the bytes were delivered, with a margin; nothing if it is most of the run,
 * so that nothing is gained by showing it alone.
 */
function actionSpan({ start_ns: start, step_ns: step, delivered_gbps: rates }) {
  const total = rates.reduce((sum, rate) => sum + rate, 0);
  if (!(total > 0)) return null;
  let first = rates.findIndex((rate) => rate > 0), last = first, sum = 0;
  for (; last < rates.length && sum + rates[last] < total * (1 - QUIET_SHARE); last++) sum += rates[last];
  const length = last + 1 - first;
  const margin = Math.max(1, length * 0.08);
  const span = [Math.max(0, first - margin), Math.min(rates.length, last + 1 + margin)];
  return span[1] - span[0] > rates.length * 0.6 ? null : span.map((place) => start + place * step);
}

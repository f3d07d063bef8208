// Fills the page from its data and ties charts and map together.
"use strict";

const charts = {};
/** What is shown: the data, the scale of the slowdown, and the span of time if it isn't the whole run. */
const shown = { data: null, slowdown: "log", span: null };
let map = null;

function showAlert(ending) {
  const alert = byId("alert");
  alert.hidden = !ending.reason;
  alert.className = `alert ${ending.kind}`;
  setText("alert-title", ending.label);
  setText("alert-reason", ending.reason);
  byId("alert-details").replaceChildren(...ending.details.map((line) => element("li", line)));
}

function showTiles(tiles) {
  byId("tiles").replaceChildren(...tiles.map(({ label, value, unit, note, bad }) => {
    const tile = element("div", undefined, bad ? "tile bad" : "tile");
    const figure = element("p", value, "figure");
    if (unit) figure.append(element("span", ` ${unit}`, "unit"));
    tile.append(element("p", label, "label"), figure, element("p", note, "note"));
    return tile;
  }));
}

function showSignals(signals) {
  byId("signals").replaceChildren(...signals.map(({ name, value, note, zero }) => {
    const row = element("tr", undefined, zero ? "zero" : "");
    row.append(element("td", name), element("td", value, "number"), element("td", note));
    return row;
  }));
}

// Charts -----------------------------------------------------------------------------------------

/** Draws a chart in place of the one that is there. */
function put(name, draw) {
  charts[name]?.close();
  charts[name] = draw(byId(`chart-${name}`));
  if (TIME_CHARTS.includes(name)) tieToMap(charts[name]?.chart);
}

function putSlowdown() {
  const bins = chosenBins(shown.data);
  setText("slowdown-caption", "Completion time over the time alone on the fabric. Each point is a class of sizes, labelled with the largest; classes hold about equally many messages.");
  put("slowdown", (host) => slowdownChart(host, bins, shown.slowdown));
  press("slowdown-", ["linear", "log"], shown.slowdown);
}

function putDistributions({ completion, queue }) {
  setText("completion-caption", `${formatCount(completion.count)} completed messages, all sizes.`);
  const sampled = queue.count > 0;
  setText("queue-caption", sampled ? `${formatCount(queue.count)} samples, one per port and interval; ${formatShare(queue.zero)} empty.` : "");
  const one = (name, { value, share }, colour, options) =>
    put(name, (host) => distributionChart(host, share, [{ name: options.label, look: { colour }, mean: value }], options));
  one("completion", completion, "series-1", { label: "completion time", unit: "ns", format: formatTime, empty: "No message completed." });
  one("queue", queue, "series-4", {
    label: "bytes waiting", unit: "bytes", format: formatBytes, empty: sampled ? "Every sample found an empty queue." : "No samples.",
  });
}

function whyZero(signals, name) {
  const row = signals.find((signal) => signal.name === name);
  return row ? `None: ${row.note}` : "None.";
}

function allZero(values) {
  return values.every((value) => value === 0);
}

function timeOf({ series: { start_ns, step_ns, marks }, faults }) {
  return { start_ns, step_ns, count: marks.length, faults };
}

function putTimeCharts(data) {
  const { series, signals } = data, time = timeOf(data);
  const step = time.count === 0 ? "interval" : formatTime(series.step_ns);
  setText("marks-caption", `Packets marked by switches in each ${step}.`);
  setText("pauses-caption", `Pause frames received in each ${step}, and time paused.`);
  const one = (name, key, colour, label, unit, format, floor) => put(name, (host) => (time.count === 0 ? showEmpty(host, "No samples.") : timeChart(host, time, [{
    values: series[key], series: steppedLine(label, colour, format, { unit }), range: fromZero(floor), side: sideAxis(null, format),
  }])));
  one("throughput", "delivered_gbps", "series-2", "delivered", "Gb/s", formatGbps, 0.001);
  one("depth", "queue_max", "series-4", "deepest queue", "bytes", formatBytes, 1);
  if (allZero(series.marks)) put("marks", (host) => showEmpty(host, whyZero(signals, "ECN marks")));
  else one("marks", "marks", "series-3", "marks", "packets", formatCount, 1);
  if (allZero(series.pauses) && allZero(series.paused_share)) put("pauses", (host) => showEmpty(host, whyZero(signals, "Pauses")));
  else putPauses(series, time);
  if (data.attack) put("attack", (host) => attackChart(host, time, data.attack));
  if (data.tenants) put("tenants", (host) => tenantsChart(host, time, data.tenants.tenants));
}

function putPauses(series, time) {
  put("pauses", (host) => timeChart(host, time, [
    { values: series.pauses, series: steppedLine("pause frames", "series-1", formatCount), range: fromZero(1), side: sideAxis("pause frames", formatCount) },
    {
      values: series.paused_share,
      series: steppedLine("port time paused", "series-4", formatShare, { fill: undefined, unit: "share" }),
      range: fromZero(0.001),
      side: sideAxis("port time paused", formatShare),
    },
  ]));
}

// Time shared by charts and map ------------------------------------------------------------------

const TIME_CHARTS = ["throughput", "depth", "marks", "pauses", "tenants", "attack", "link-utilisation", "link-queue"];

/** Draws the map's time into the charts over time. */
function markTime(ns) {
  for (const name of TIME_CHARTS) {
    const chart = charts[name]?.chart;
    if (!chart) continue;
    let mark = chart.over.querySelector(".map-mark");
    if (!mark) chart.over.append((mark = element("div", undefined, "map-mark")));
    const x = chart.valToPos(ns, "x");
    mark.hidden = !(x >= 0 && x <= chart.over.clientWidth);
    mark.style.transform = `translateX(${x}px)`;
  }
}

/** A click shows its time on the map; what is dragged over is shown by all, a double click shows everything again. */
function tieToMap(chart) {
  if (!chart) return;
  const { over } = chart;
  over.addEventListener("click", () => {
    if (chart.cursor.left >= 0) map.showTime(chart.posToVal(chart.cursor.left, "x"));
  });
  over.addEventListener("dblclick", () => setSpan(null));
  // The mark moves with the scale after a zoom or a new width.
  chart.hooks.draw = [...(chart.hooks.draw ?? []), () => markTime(map.timeShown)];
  chart.hooks.setSelect = [({ select }) => {
    if (select.width > 0) setSpan([select.left, select.left + select.width].map((at) => chart.posToVal(at, "x")));
  }];
  showSpan(chart);
}

function showSpan(chart) {
  const times = chart.data[0];
  const [min, max] = shown.span ?? [times[0] < times[times.length - 1] * 0.02 ? 0 : times[0], times[times.length - 1]];
  chart.setScale("x", { min, max });
}

/** Shows a span of time in all charts over time, or the whole run. */
function setSpan(span) {
  shown.span = span;
  for (const name of TIME_CHARTS) if (charts[name]) showSpan(charts[name].chart);
  const action = actionSpan(shown.data.series);
  const isAction = span !== null && action !== null && span.every((at, place) => at === action[place]);
  byId("spans").hidden = !action;
  press("span-", ["action", "whole"], span === null ? "whole" : isAction ? "action" : "");
  byId("span-words").hidden = !isAction;
  if (!isAction) return;
  const { start_ns: start, step_ns: step, marks } = shown.data.series;
  setText("span-words", `Shown are ${formatSpan(...action)}, in which 99\u202f% of the bytes were delivered, of ${formatTime(start + step * marks.length)}.`);
}

// Page -------------------------------------------------------------------------------------------

function drawCharts(data) {
  putSlowdown();
  putDistributions(data);
  putTimeCharts(data);
  if (map.chosen !== null) showLink(map, map.chosen, data.faults, put);
}

/** Shows a run; again with other data while it goes on. */
function showPage(data) {
  const first = shown.data === null, running = data.ending.kind === "running";
  shown.data = data;
  const { heading: { name, facts, version }, ending } = data;
  fillHead({ eyebrow: "Fairlane report", title: name, badge: { text: ending.label, kind: ending.kind }, facts, version: `Fairlane ${version}` });
  showAlert(ending);
  showTiles(data.tiles);
  showSignals(data.signals);
  setText("scenario", data.scenario);
  const { tier, tier_names: names } = data.map.nodes;
  const nodeName = (node) => (names ? `${names[tier[node]] ?? "node"} ${node}` : `node ${node}`);
  if (data.tenants) chooseTenantColours(data.tenants.tenants);
  offerTenants(data);
  showTenants(data, nodeName);
  showAttack(data);
  map ??= new FabricMap(markTime, (port) => showLink(map, port, shown.data.faults, put));
  map.load(data.map, data.faults, running);
  drawCharts(data);
  if (first) setSpan(running ? null : actionSpan(data.series));
  else setSpan(shown.span);
  showSlowest(data, nodeName);
  showCollectives(data);
  showHottest(data, (port) => map.portName(port), (port) => map.choose(port));
  showFaults(data, (port) => `link ${map.portName(port).replace("→", "–")}`);
  markTime(map.timeShown);
}

function linkControls() {
  for (const scale of ["linear", "log"]) {
    byId(`slowdown-${scale}`).addEventListener("click", () => { shown.slowdown = scale; putSlowdown(); });
  }
  byId("slowdown-tenant").addEventListener("change", putSlowdown);
  byId("span-action").addEventListener("click", () => setSpan(actionSpan(shown.data.series)));
  byId("span-whole").addEventListener("click", () => setSpan(null));
}

/**
 * Draws everything anew when the theme changes; paper is always light and
 * shows the scenario. */
function linkTheme() {
  const redraw = () => {
    if (!shown.data) return;
    map.recolour();
    drawCharts(shown.data);
    map.show(map.frame);
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  addEventListener("beforeprint", () => {
    document.documentElement.classList.add("paper");
    document.querySelector("details").open = true;
    redraw();
  });
  addEventListener("afterprint", () => { document.documentElement.classList.remove("paper"); redraw(); });
}

linkControls();
linkTheme();
const given = JSON.parse(byId("data").textContent);
if (given?.error) setText("name", given.error);
else if (given) showPage(given);
window.fairlane = { charts, shown, get map() { return map; }, get data() { return shown.data; } };

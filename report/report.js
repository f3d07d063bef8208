// Fills the page from its data and ties charts and map together.
"use strict";

function element(kind, text, className) {
  const node = document.createElement(kind);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  return node;
}

/** A small table; `head` may be null. */
function table(head, rows) {
  const whole = element("table");
  const fill = (row, kind, cells) => cells.forEach((cell) => row.append(element(kind, cell)));
  if (head) fill(whole.createTHead().insertRow(), "th", head);
  const body = whole.createTBody();
  rows.forEach((cells) => fill(body.insertRow(), "td", cells));
  return whole;
}

function setText(id, text) {
  document.getElementById(id).textContent = text;
}

function showHead({ heading, ending }) {
  setText("name", heading.name);
  setText("version", `Fairlane ${heading.version}`);
  const facts = heading.facts.map(([label, text]) => {
    const fact = element("div");
    fact.append(element("dt", label), element("dd", text));
    return fact;
  });
  document.getElementById("facts").replaceChildren(...facts);
  const badge = document.getElementById("ending");
  badge.textContent = ending.label;
  badge.classList.add(ending.kind);
}

function showAlert(ending) {
  if (!ending.reason) return;
  const alert = document.getElementById("alert");
  alert.hidden = false;
  alert.classList.add(ending.kind);
  setText("alert-title", ending.label);
  setText("alert-reason", ending.reason);
  document.getElementById("alert-details").replaceChildren(...ending.details.map((line) => element("li", line)));
}

function showTiles(tiles) {
  document.getElementById("tiles").replaceChildren(...tiles.map(({ label, value, unit, note, bad }) => {
    const tile = element("div", undefined, bad ? "tile bad" : "tile");
    const figure = element("p", value, "figure");
    if (unit) figure.append(element("span", ` ${unit}`, "unit"));
    tile.append(element("p", label, "label"), figure, element("p", note, "note"));
    return tile;
  }));
}

function showSignals(signals) {
  document.getElementById("signals").replaceChildren(...signals.map(({ name, value, note, zero }) => {
    const row = element("tr", undefined, zero ? "zero" : "");
    row.append(element("td", name), element("td", value, "number"), element("td", note));
    return row;
  }));
}

// Charts -----------------------------------------------------------------------------------------

const charts = {};
let slowdownScale = "log";
/** Those of all messages, or of the tenant that is chosen. */
let slowdownBins = [];

/** Draws a chart in place of the one that is there. */
function put(name, draw) {
  charts[name]?.close();
  charts[name] = draw(document.getElementById(`chart-${name}`));
}

function putSlowdown() {
  put("slowdown", (host) => slowdownChart(host, slowdownBins, slowdownScale));
  for (const scale of ["linear", "log"]) {
    document.getElementById(`slowdown-${scale}`).setAttribute("aria-pressed", String(scale === slowdownScale));
  }
}

function showSlowdown(bins) {
  slowdownBins = bins;
  captionSlowdown(bins);
  putSlowdown();
}

function captionSlowdown(bins) {
  const even = bins.length > 0 && bins[0].size === bins[bins.length - 1].size;
  const order = even ? "in order of completion, since all have one size" : "ordered by size and labelled with the largest";
  setText("slowdown-caption", `Completion time over the time alone on the fabric. Each point is an equal share of the messages, ${order}.`);
}

function linkSlowdownToggle() {
  for (const scale of ["linear", "log"]) {
    document.getElementById(`slowdown-${scale}`).addEventListener("click", () => {
      slowdownScale = scale;
      putSlowdown();
    });
  }
}

function putDistributions({ completion, queue }) {
  setText("completion-caption", `${formatCount(completion.count)} completed messages, all sizes.`);
  const sampled = queue.count > 0;
  setText("queue-caption", sampled ? `${formatCount(queue.count)} samples, one per port and interval; ${formatShare(queue.zero)} empty.` : "");
  put("completion", (host) => distributionChart(host, completion, {
    label: "completion time", format: formatTime, colour: "series-1", empty: "No message completed.",
  }));
  put("queue", (host) => distributionChart(host, queue, {
    label: "bytes waiting", format: formatBytes, colour: "series-4", empty: sampled ? "Every sample found an empty queue." : "No samples.",
  }));
}

function whyZero(signals, name) {
  const row = signals.find((signal) => signal.name === name);
  return row ? `None: ${row.note}` : "None.";
}

function allZero(values) {
  return values.every((value) => value === 0);
}

function putTimeCharts({ series, signals }) {
  const step = series.marks.length === 0 ? "interval" : formatTime(series.step_ns);
  setText("marks-caption", `Packets marked by switches in each ${step}.`);
  setText("pauses-caption", `Pause frames received in each ${step}, and time paused.`);
  putOverTime("throughput", series, "delivered_gbps", "series-2", "delivered", formatGbps, 0.001);
  putOverTime("depth", series, "queue_max", "series-4", "deepest queue", formatBytes, 1);
  if (allZero(series.marks)) put("marks", (host) => showEmpty(host, whyZero(signals, "ECN marks")));
  else putOverTime("marks", series, "marks", "series-3", "marks", formatCount, 1);
  if (allZero(series.pauses) && allZero(series.paused_share)) put("pauses", (host) => showEmpty(host, whyZero(signals, "Pauses")));
  else putPauses(series);
}

function putOverTime(name, series, key, colour, label, format, floor) {
  put(name, (host) => (series.marks.length === 0 ? showEmpty(host, "No samples.") : timeChart(host, series, [{
    values: series[key], series: steppedLine(label, colour, format), range: fromZero(floor), side: sideAxis(null, format),
  }])));
}

function putPauses(series) {
  put("pauses", (host) => timeChart(host, series, [
    { values: series.pauses, series: steppedLine("pause frames", "series-1", formatCount), range: fromZero(1), side: sideAxis("pause frames", formatCount) },
    {
      values: series.paused_share,
      series: steppedLine("port time paused", "series-4", formatShare, { fill: undefined }),
      range: fromZero(0.001),
      side: sideAxis("port time paused", formatShare),
    },
  ]));
}

// Time shared by charts and map ------------------------------------------------------------------

const TIME_CHARTS = ["throughput", "depth", "marks", "pauses", "tenants", "attack"];

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

function linkChartsToMap(map) {
  for (const name of TIME_CHARTS) {
    const chart = charts[name]?.chart;
    if (!chart) continue;
    chart.over.addEventListener("click", () => {
      if (chart.cursor.left >= 0) map.showTime(chart.posToVal(chart.cursor.left, "x"));
    });
    // The mark moves with the scale after a zoom or a new width.
    chart.hooks.draw = [...(chart.hooks.draw ?? []), () => markTime(map.timeShown)];
  }
}

// Page -------------------------------------------------------------------------------------------

function drawCharts(data) {
  putSlowdown();
  putDistributions(data);
  putTimeCharts(data);
  if (data.attack) put("attack", (host) => attackChart(host, data.series, data.attack));
  if (data.tenants) put("tenants", (host) => tenantsChart(host, data.series, data.tenants.tenants));
}

function showPage(data) {
  showHead(data);
  showAlert(data.ending);
  showTiles(data.tiles);
  showSignals(data.signals);
  setText("scenario", data.scenario);
  const { tier, tier_names: names } = data.map.nodes;
  showTenants(data, (node) => `${names[tier[node]]} ${node}`);
  showAttack(data);
  slowdownBins = data.slowdown;
  captionSlowdown(slowdownBins);
  drawCharts(data);
  linkSlowdownToggle();
  linkTenantChoice(data, showSlowdown);
  const map = new FabricMap(data.map, markTime);
  map.setMode(map.mode);
  linkChartsToMap(map);
  linkTheme(data, map);
  return map;
}

/**
 * Draws everything anew when the theme changes; paper is always light and
 * shows the scenario. */
function linkTheme(data, map) {
  const redraw = () => {
    drawCharts(data);
    linkChartsToMap(map);
    map.recolour();
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

const data = JSON.parse(document.getElementById("data").textContent);
if (data.error) setText("name", data.error);
else window.fairlane = { charts, map: showPage(data), data };

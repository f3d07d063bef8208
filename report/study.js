// Fills the page of many runs: a sweep, or several runs that are compared.
"use strict";

const study = JSON.parse(document.getElementById("data").textContent);
/** What is drawn: places of axes, or -1 for none; a metric, or -1 for all. */
const shown = { metric: 0, x: -1, lines: -1, mapX: 0, mapY: 1, at: -1, log: study.choice.log };
let open = [];

/** The point with these values. */
const byPlace = new Map(study.points.map((point, place) => [point.at.join(), place]));

/** Combinations of the values of all axes but some. */
function facets(without) {
  let found = [[]];
  study.axes.forEach((one, place) => {
    const values = without.includes(place) ? [null] : one.values.map((_, value) => value);
    found = found.flatMap((at) => values.map((value) => [...at, value]));
  });
  return found;
}

/** The words for a combination, as far as it is one. */
function facetWords(at) {
  const words = at.map((value, place) => (value === null ? null : `${study.axes[place].name} ${study.axes[place].values[value]}`));
  return words.filter((word) => word !== null).join(", ");
}

function pointOf(at, changes) {
  const whole = at.map((value, place) => changes[place] ?? value);
  const place = byPlace.get(whole.join());
  return place === undefined ? null : study.points[place];
}

/** Lines of a chart: one for each value of the axis of lines, or a single one. */
function lineValues() {
  if (shown.lines < 0) return [{ name: "", place: null }];
  return study.axes[shown.lines].values.map((name, place) => ({ name, place }));
}

function changesOf(x, lineValue) {
  const changes = {};
  if (shown.x >= 0 && x !== null) changes[shown.x] = x;
  if (shown.lines >= 0) changes[shown.lines] = lineValue;
  return changes;
}

function meansOf(at, metric) {
  return lineValues().map(({ name, place }, number) => {
    const figures = study.axes[shown.x].values.map((_, x) => pointOf(at, changesOf(x, place))?.figures[metric] ?? null);
    const mean = figures.map((figure) => figure?.mean ?? null);
    const edge = (sign) => figures.map((figure) => (figure?.mean == null ? null : figure.mean + sign * (figure.ci95 ?? 0)));
    return { name: name || study.metrics[metric], look: lineLook(number), mean, low: edge(-1), high: edge(1) };
  });
}

function panel(host, title, extra) {
  const box = element("section", undefined, "panel");
  const heading = element("h3", title);
  if (extra) heading.append(element("span", ` · ${extra}`));
  const chart = element("div", undefined, "chart");
  const head = element("div", undefined, "panel-head");
  head.append(heading);
  box.append(head, chart);
  host.append(box);
  return chart;
}

function drawFigures() {
  const host = byId("figures");
  host.textContent = "";
  const metrics = shown.metric < 0 ? study.metrics.map((_, place) => place) : [shown.metric];
  const places = facets([shown.x, shown.lines]);
  host.classList.toggle("few", metrics.length * places.length < 3);
  for (const metric of metrics) {
    const name = study.metrics[metric];
    for (const at of places) {
      const chart = panel(host, name, facetWords(at));
      const drawn = meansChart(chart, study.axes[shown.x], meansOf(at, metric), { format: formatterOf(name), log: shown.log });
      if (drawn) open.push(drawn);
    }
  }
}

function key(host, names) {
  host.replaceChildren(...(names.length < 2 ? [] : names.map((name, number) => {
    const item = element("li");
    const mark = element("i");
    const look = lineLook(number);
    mark.style.borderTopColor = themeColour(look.colour);
    mark.style.borderTopStyle = look.dash ? "dashed" : "solid";
    item.append(mark, name);
    return item;
  })));
}

function drawMap() {
  const part = byId("map-part");
  part.hidden = study.axes.length < 2 || shown.mapX === shown.mapY;
  if (part.hidden) return;
  const metric = Math.max(0, shown.metric);
  const format = formatterOf(study.metrics[metric]);
  const figure = (point) => point?.figures[metric]?.mean ?? null;
  const range = extent(study.points.map(figure)) ?? [0, 1];
  const host = byId("maps");
  host.textContent = "";
  byId("map-words").textContent = `${study.metrics[metric]}, means; colours run from ${format(range[0])} to ${format(range[1])}.`;
  for (const at of facets([shown.mapX, shown.mapY])) {
    const box = element("section", undefined, "panel");
    const head = element("div", undefined, "panel-head");
    head.append(element("h3", facetWords(at) || study.metrics[metric]));
    box.append(head);
    const wide = element("div", undefined, "wide");
    wide.tabIndex = 0;
    const value = (row, column) => figure(pointOf(at, { [shown.mapX]: column, [shown.mapY]: row }));
    wide.append(heatMap(study.axes[shown.mapX], study.axes[shown.mapY], value, format, range));
    box.append(wide);
    host.append(box);
  }
}

/** Lets the reader choose a value of the axis along x, as each has distributions of its own. */
function offerPlaces(lines) {
  const { name, values } = study.axes[shown.x];
  byId("choice-at").hidden = lines === shown.x || values.length < 2;
  byId("at-name").textContent = `at ${name}`;
  byId("at").replaceChildren(new Option("all", -1), ...values.map((value, place) => new Option(value, place)));
  shown.at = Math.min(shown.at, values.length - 1);
  byId("at").value = shown.at;
}

function drawCurves() {
  const host = byId("curves");
  host.textContent = "";
  byId("curves-part").hidden = study.curves.length === 0;
  const lines = shown.lines >= 0 ? shown.lines : shown.x;
  offerPlaces(lines);
  const wanted = (at) => shown.at < 0 || lines === shown.x || at[shown.x] === shown.at;
  const places = facets([lines]).filter(wanted);
  const values = lines >= 0 ? study.axes[lines].values : [""];
  key(byId("curves-key"), values);
  host.classList.toggle("few", study.curves.length * places.length < 3);
  study.curves.forEach((curve, number) => {
    for (const at of places) {
      const chart = panel(host, curve.name, facetWords(at));
      const of = values.map((name, place) => {
        const point = pointOf(at, lines >= 0 ? { [lines]: place } : {});
        return { name: name || curve.name, look: lineLook(place), ...point?.curves[number] };
      });
      const there = of.filter((one) => one.mean || one.x);
      const drawn = curve.kind === "distribution"
        ? distributionChart(chart, study.shares, there, { label: curve.x.name, format: FORMATS[curve.x.format], empty: "Nothing to draw." })
        : curvesChart(chart, there, curve);
      if (drawn) open.push(drawn);
    }
  });
}

function drawMeans() {
  const table = byId("means");
  const head = table.tHead.insertRow();
  ["", ...study.metrics].forEach((name) => head.append(element("th", name)));
  for (const point of study.points) {
    const row = table.tBodies[0].insertRow();
    row.insertCell().textContent = point.name || study.title;
    study.metrics.forEach((name, metric) => {
      const cell = row.insertCell();
      const figure = point.figures[metric];
      if (figure?.mean == null) return cell.append("–");
      const format = formatterOf(name);
      cell.append(format(figure.mean));
      if (figure.ci95 !== null) cell.append(" ", element("span", `± ${format(figure.ci95)}`, "half"));
    });
  }
}

function draw() {
  open.forEach((chart) => chart.close());
  open = [];
  const lines = shown.lines >= 0 ? study.axes[shown.lines] : null;
  const intervals = study.seeds > 1 ? `means of ${study.seeds} seeds with 95 % intervals` : "one run each";
  byId("figures-caption").textContent = `Along x ${study.axes[shown.x].name}${lines ? `, a line for each ${lines.name}` : ""}; ${intervals}.`;
  key(byId("key"), lines ? lines.values : []);
  drawFigures();
  drawMap();
  drawCurves();
  press("", ["linear", "log"], shown.log ? "log" : "linear");
}

function choose(id, names, value, change) {
  const select = byId(id);
  names.forEach(([name, place]) => select.append(new Option(name, place)));
  select.value = value;
  select.addEventListener("change", () => { change(Number(select.value)); draw(); });
}

/** Axes that the page begins with: those that were asked for, else the longest of numbers and the first other one. */
function begin() {
  const named = (name) => study.axes.findIndex((one) => one.name === name);
  const longest = (list) => list.reduce((best, place) => (best < 0 || study.axes[place].values.length > study.axes[best].values.length ? place : best), -1);
  const places = study.axes.map((_, place) => place);
  const numeric = places.filter((place) => study.axes[place].numbers && place !== named(study.choice.lines));
  shown.x = named(study.choice.x);
  if (shown.x < 0) shown.x = longest(numeric.length ? numeric : places.filter((place) => place !== named(study.choice.lines)));
  shown.x = Math.max(0, shown.x);
  shown.lines = named(study.choice.lines);
  if (shown.lines < 0) shown.lines = places.find((place) => place !== shown.x) ?? -1;
  shown.at = study.axes[shown.x].values.length - 1;
  shown.mapX = shown.x;
  shown.mapY = shown.lines >= 0 ? shown.lines : shown.x;
  const others = facets([shown.x, shown.lines]).length;
  shown.metric = study.metrics.length * others <= 12 ? -1 : 0;
}

function fill() {
  const { eyebrow, title, badge, facts, version } = study;
  fillHead({ eyebrow, title, badge, facts, version });
  setText("source", study.source.text);
  setText("source-title", study.source.title);
  setText("source-summary", study.source.summary);
  setText("curves-title", study.curves_title);
  setText("curves-caption", study.curves_caption);
  const axes = study.axes.map((one, place) => [one.name, place]);
  choose("metric", [["all", -1], ...study.metrics.map((name, place) => [name, place])], shown.metric, (place) => { shown.metric = place; });
  choose("x", axes, shown.x, (place) => { shown.x = place; if (shown.lines === place) shown.lines = -1; byId("lines").value = shown.lines; });
  choose("lines", [["none", -1], ...axes], shown.lines, (place) => { shown.lines = place === shown.x ? -1 : place; byId("lines").value = shown.lines; });
  choose("map-x", axes, shown.mapX, (place) => { shown.mapX = place; });
  choose("map-y", axes, shown.mapY, (place) => { shown.mapY = place; });
  byId("choice-x").hidden = byId("choice-lines").hidden = study.axes.length < 2;
  byId("at").addEventListener("change", () => { shown.at = Number(byId("at").value); draw(); });
  byId("linear").addEventListener("click", () => { shown.log = false; draw(); });
  byId("log").addEventListener("click", () => { shown.log = true; draw(); });
}

begin();
fill();
drawMeans();
draw();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

// Checks a page of many runs in a browser, with checks.js.
"use strict";

/** Colours that a canvas has beside transparency. */
function colours(canvas) {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(data.buffer)).size;
}

/** Whether a canvas has pixels of the first line's colour. */
function hasLine(canvas) {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const [red, green, blue] = themeColour("series-1").match(/\w\w/g).map((part) => parseInt(part, 16));
  for (let at = 0; at < data.length; at += 4) {
    if (data[at] === red && data[at + 1] === green && data[at + 2] === blue && data[at + 3] === 255) return true;
  }
  return false;
}

const canvases = (id) => [...document.querySelectorAll(`#${id} canvas`)];
const places = (without) => study.axes.filter((_, place) => !without.includes(place)).reduce((count, one) => count * one.values.length, 1);

async function checkStudy() {
  await check("every figure is drawn for every combination of the other axes", () => {
    demand(canvases("figures").length === study.metrics.length * places([shown.x, shown.lines]), `${canvases("figures").length} charts`);
    demand(canvases("figures").every((canvas) => colours(canvas) > 5), "an empty chart");
  });
  await check("distributions are drawn over each other", () => {
    demand(canvases("curves").length > 0 && canvases("curves").every((canvas) => colours(canvas) > 10), "an empty chart");
    demand(canvases("curves").some(hasLine) && canvases("curves").every(hasLine), "a chart without its first line");
    const names = document.querySelectorAll("#curves-key li").length;
    demand(names === study.axes[shown.lines < 0 ? shown.x : shown.lines].values.length, `${names} names`);
  });
  await check("curves have bands where there are any", () => {
    const banded = study.points.some((point) => point.curves.some(({ x, low }) => x && low.some((value) => value !== null)));
    const curves = open.filter(({ chart }) => chart.scales.value === undefined && chart.axes[0].label === study.curves[1].x.name);
    demand(curves.length > 0 && curves.every(({ chart }) => (chart.bands.length > 0) === banded), `${curves.length} curves, ${banded}`);
  });
  await check("means have a row for each combination", () => demand(document.querySelectorAll("#means tbody tr").length === study.points.length, "other rows"));
  await check("nothing is wider than the page", () => demand(document.documentElement.scrollWidth <= innerWidth + 1, `${document.documentElement.scrollWidth} px`));
  await check("the scale changes", () => {
    byId("log").click();
    demand(byId("log").getAttribute("aria-pressed") === "true", "it isn't pressed");
    byId("linear").click();
  });
  if (study.axes.length < 2) return;
  await check("the map has a cell for each pair of values", () => {
    const cells = document.querySelectorAll("#maps td");
    demand(cells.length === study.points.length && [...cells].every((cell) => cell.style.background), `${cells.length} cells`);
  });
  await check("another axis can go along x", () => {
    const before = shown.x;
    const other = study.axes.findIndex((_, place) => place !== shown.x && place !== shown.lines);
    if (other >= 0) select("x", other);
    select("lines", -1);
    demand(canvases("figures").length >= study.metrics.length, "charts are missing");
    select("x", before);
  });
  await check("one figure can be chosen", () => {
    select("metric", 0);
    demand(canvases("figures").length === places([shown.x, shown.lines]), `${canvases("figures").length} charts`);
  });
}

setTimeout(async () => {
  await checkTables(false);
  await checkDownloads(2);
  await checkStudy();
  await finish();
}, 300);

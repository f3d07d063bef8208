// What checks of pages in a browser have in common. Not part of a page: a test adds it and its checks, opens the page
// headless and reads the verdict from the element "selftest", one line per check, "pass NAME" or "fail NAME: WHY", then
// "done".
"use strict";

const verdict = [];

function pause(ms = 60) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function demand(condition, why) {
  if (!condition) throw new Error(why);
}

async function check(name, body) {
  try {
    await body();
    verdict.push(`pass ${name}`);
  } catch (error) {
    verdict.push(`fail ${name}: ${error.message}`);
  }
}

/** All pixels of a canvas in one number each, without transparency. */
function pixels(canvas) {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return new Uint32Array(data.buffer);
}

function differ(before, after) {
  return before.length !== after.length || before.some((pixel, place) => pixel !== after[place]);
}

/** How many pixels of a canvas have exactly this colour. */
function countOf(canvas, colour) {
  const probe = document.createElement("canvas").getContext("2d");
  probe.fillStyle = colour;
  probe.fillRect(0, 0, 1, 1);
  const wanted = new Uint32Array(probe.getImageData(0, 0, 1, 1).data.buffer)[0];
  return pixels(canvas).filter((pixel) => pixel === wanted).length;
}

/** The pixels of a chart that have the colour of one of its series. */
function inked(chart, series) {
  return countOf(chart.ctx.canvas, chart.series[series].stroke(chart, series));
}

function move(target, kind, x, y) {
  const bounds = target.getBoundingClientRect();
  const place = { clientX: bounds.left + x, clientY: bounds.top + y, bubbles: true };
  target.dispatchEvent(new (kind.startsWith("pointer") ? PointerEvent : MouseEvent)(kind, place));
}

function select(id, value) {
  byId(id).value = value;
  byId(id).dispatchEvent(new Event("change", { bubbles: true }));
}

/** What a click on a button of downloads saves: name, kind and text. */
function saved(button) {
  const { createObjectURL } = URL, { click } = HTMLAnchorElement.prototype, { Blob } = window;
  let blob = null, name = "";
  // Reading a true one back takes time that a browser under virtual time doesn't have.
  window.Blob = class { constructor(parts, { type }) { blob = { text: parts.join(""), kind: type }; } };
  URL.createObjectURL = () => "data:,";
  HTMLAnchorElement.prototype.click = function () { name = this.download; };
  button.click();
  URL.createObjectURL = createObjectURL;
  HTMLAnchorElement.prototype.click = click;
  window.Blob = Blob;
  return { name, ...blob };
}

/** Every chart and the map can be saved, as a drawing and as a table. */
async function checkDownloads(least) {
  await check("every chart can be saved as SVG and CSV", () => {
    const boxes = [...document.querySelectorAll(".downloads")].filter((box) => box.offsetParent);
    demand(boxes.length >= least, `only ${boxes.length} charts`);
    const canvases = [...document.querySelectorAll(".page canvas:not(.legend-bar)")].filter((canvas) => canvas.offsetParent);
    demand(boxes.length === canvases.length, `${boxes.length} of ${canvases.length} charts`);
    for (const box of boxes) {
      const [svg, csv] = [...box.querySelectorAll("button")].map(saved);
      const drawn = new DOMParser().parseFromString(svg.text, "image/svg+xml");
      demand(drawn.documentElement.tagName === "svg" && drawn.querySelectorAll("path").length > 3, `${svg.name}: ${svg.text.slice(0, 200)}`);
      demand(!/NaN|undefined|null|Infinity|=>/.test(svg.text), `${svg.name}: ${svg.text.match(/.{40}(NaN|undefined|null|Infinity).{40}/)?.[0]}`);
      demand(drawn.querySelectorAll("text").length > 2, `${svg.name} has no words`);
      const rows = csv.text.trimEnd().split("\r\n").map((row) => row.split(",").length);
      demand(rows.length > 1 && rows.every((cells) => cells > 1), `${csv.name}: ${csv.text.slice(0, 200)}`);
      demand(svg.name.endsWith(".svg") && csv.name.endsWith(".csv") && svg.kind === "image/svg+xml" && csv.kind === "text/csv", `${svg.name} ${svg.kind}`);
    }
  });
}

/** Tables that don't fit have a bar that is always there; on a narrow page it is `sure` that some don't. */
async function checkTables(sure) {
  await check("tables that are too wide have a visible bar", () => {
    const shown = [...document.querySelectorAll(".wide")].filter((wide) => wide.offsetParent);
    demand(shown.length > 0, "no tables");
    const wider = shown.filter((wide) => wide.scrollWidth > wide.clientWidth);
    demand(!sure || innerWidth > 600 || wider.length > 0, "all fit");
    for (const wide of wider) {
      demand(wide.offsetHeight - wide.clientHeight > 5, "no bar");
      demand(wide.tabIndex === 0, "the keyboard doesn't reach it");
    }
  });
}

async function finish() {
  await check("no errors", () => demand(selftestErrors.length === 0, selftestErrors.join("; ")));
  const report = document.createElement("pre");
  report.id = "selftest";
  report.textContent = [...verdict, "done", ""].join("\n");
  document.body.append(report);
}

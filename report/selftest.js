// Checks a report in a browser through real DOM events, with checks.js.
"use strict";

async function checkPage() {
  await check("figures are there", () => {
    demand(byId("name").textContent.length > 0, "no name");
    demand(byId("ending").textContent.length > 0, "no ending");
    demand(document.querySelectorAll(".tile").length >= 10, "too few tiles");
    demand(document.querySelectorAll("#signals tr").length >= 7, "too few signals");
    for (const figure of document.querySelectorAll(".figure")) demand(figure.textContent.trim() !== "", "a tile is empty");
  });
  await check("no panel is empty", () => {
    for (const host of document.querySelectorAll(".chart")) {
      const text = host.querySelector(".empty")?.textContent ?? "";
      demand(!host.offsetParent || host.querySelector("canvas") || text.length > 4, `${host.id} shows nothing`);
    }
  });
  await check("nothing is wider than the page", () => {
    const { scrollWidth } = document.documentElement;
    demand(scrollWidth <= innerWidth, `${scrollWidth} px in ${innerWidth} px`);
  });
  await check("nothing was loaded", () => {
    const loaded = performance.getEntriesByType("resource").map((entry) => entry.name);
    demand(loaded.length === 0, loaded.join(", "));
  });
}

async function checkCharts() {
  for (const [name, kept] of Object.entries(fairlane.charts)) {
    if (!kept) continue;
    await check(`${name} has lines`, () => {
      for (let series = 1; series < kept.chart.series.length; series++) {
        const count = inked(kept.chart, series);
        demand(count > 30, `${count} pixels of series ${series}`);
      }
    });
  }
}

async function checkSlowdown() {
  await check("slowdown switches between log and linear", async () => {
    const before = pixels(fairlane.charts.slowdown.chart.ctx.canvas);
    byId("slowdown-linear").click();
    await pause();
    const { chart } = fairlane.charts.slowdown;
    demand(chart.scales.y.distr === 1 && chart.scales.y.min === 0, "the scale isn't linear from 0");
    demand(byId("slowdown-linear").getAttribute("aria-pressed") === "true", "the button isn't pressed");
    demand(differ(before, pixels(chart.ctx.canvas)), "the drawing didn't change");
    demand(inked(chart, 1) > 30, "the line is missing");
    byId("slowdown-log").click();
    await pause();
    demand(fairlane.charts.slowdown.chart.scales.y.distr === 3, "the scale isn't logarithmic");
    demand(document.querySelectorAll("#chart-slowdown canvas").length === 1, "the old chart is still there");
  });
  await check("hover shows slowdowns", async () => {
    const { chart } = fairlane.charts.slowdown;
    move(chart.over, "mouseenter", 100, 50);
    move(chart.over, "mousemove", 100, 50);
    await pause();
    const values = [...document.querySelectorAll("#chart-slowdown .u-value")].map((cell) => cell.textContent);
    demand(values.length === chart.series.length && values.every((text) => text !== ""), `values: ${values.join("|")}`);
  });
}

async function checkTimeCharts() {
  await check("hover is shared by the charts over time", async () => {
    const { over } = fairlane.charts.throughput.chart;
    move(over, "mouseenter", 80, 50);
    move(over, "mousemove", 80, 50);
    await pause();
    const values = [...document.querySelectorAll("#chart-depth .u-value")].map((cell) => cell.textContent);
    demand(values.every((text) => text !== ""), `values: ${values.join("|")}`);
  });
  await check("a click shows that time on the map", async () => {
    const { chart } = fairlane.charts.throughput;
    const { over } = chart;
    const x = over.clientWidth * 0.8;
    const before = byId("map-time").textContent;
    for (const kind of ["mousemove", "mousedown", "mouseup", "click"]) move(over, kind, x, 50);
    await pause();
    demand(byId("map-time").textContent !== before, "the map's time is the same");
    const { start_ns: start, step_ns: step } = fairlane.data.map.frames;
    const frame = Math.floor((chart.posToVal(x, "x") - start) / step);
    demand(Math.abs(fairlane.map.frame - frame) < 2, `frame ${fairlane.map.frame}, not ${frame}`);
    const mark = over.querySelector(".map-mark").getBoundingClientRect().left - over.getBoundingClientRect().left;
    demand(Math.abs(mark - x) < 8 + chart.valToPos(start + step, "x") - chart.valToPos(start, "x"), `the mark is at ${mark}, not ${x}`);
  });
}

async function checkMap() {
  const { map } = fairlane;
  const slide = (frame) => { byId("slider").value = frame; byId("slider").dispatchEvent(new Event("input")); };
  await check("the slider changes the map and its time", async () => {
    slide(0);
    await pause();
    const time = byId("map-time").textContent, before = pixels(map.canvas);
    slide(map.busiestFrame() || 1);
    await pause();
    demand(byId("map-time").textContent !== time, `the time is still ${time}`);
    demand(differ(before, pixels(map.canvas)), "the drawing didn't change");
  });
  await check("links have many colours", () => {
    demand(new Set(pixels(map.canvas)).size > 20, "hardly any colours");
  });
  for (const mode of ["queue", "paused", "utilisation"]) {
    await check(`links show ${mode}`, async () => {
      const before = pixels(map.canvas);
      byId(`map-${mode}`).click();
      await pause();
      demand(differ(before, pixels(map.canvas)), "the drawing didn't change");
      demand(byId(`map-${mode}`).getAttribute("aria-pressed") === "true", "the button isn't pressed");
      demand(byId("legend-ticks").childElementCount >= 3, "the legend has no ticks");
    });
  }
  await check("play moves on and stops", async () => {
    slide(0);
    byId("play").click();
    await pause(400);
    demand(map.frame >= 2, `still at frame ${map.frame}`);
    byId("play").click();
    const frame = map.frame;
    await pause(400);
    demand(map.frame === frame, "it plays on");
  });
}

async function checkHover() {
  const { map } = fairlane, { view } = map, tip = byId("map-tip");
  await check("hover over a link names it", async () => {
    const port = Math.floor(map.portCount * 0.75);
    const [x1, y1, x2, y2] = view.lanes.subarray(port * 4, port * 4 + 4);
    move(map.canvas, "pointermove", x1 + (x2 - x1) * 0.3, y1 + (y2 - y1) * 0.3);
    await pause();
    demand(!tip.hidden && tip.offsetWidth > 50, "no tooltip");
    demand(tip.textContent.includes("b/s") && tip.textContent.includes("–"), tip.textContent);
    const inside = tip.getBoundingClientRect(), box = byId("map-box").getBoundingClientRect();
    demand(inside.left >= box.left && inside.right <= box.right + 1, "the tooltip leaves the map");
  });
  await check("hover over a node names it", async () => {
    const node = view.nodeX.length - 1;
    move(map.canvas, "pointermove", view.nodeX[node], view.nodeY[node]);
    await pause();
    demand(tip.textContent.startsWith(map.name(node)), tip.textContent);
    demand(tip.textContent.includes("deepest queue"), tip.textContent);
  });
  await check("the tooltip goes away", async () => {
    move(map.canvas, "pointerleave", -5, -5);
    await pause();
    demand(tip.hidden, "it stays");
  });
  await check("zoom in and out", async () => {
    const before = Array.from(view.nodeX);
    byId("zoom-in").click();
    demand(view.nodeX.some((x, node) => Math.abs(x - before[node]) > 5), "nothing moved");
    byId("zoom-reset").click();
    demand(view.nodeX.every((x, node) => Math.abs(x - before[node]) < 0.01), "it doesn't come back");
  });
}

async function checkTenants() {
  const { tenants, links } = fairlane.data.tenants;
  await check("every tenant has its figures", () => {
    const rows = [...document.querySelectorAll("#tenant-figures tr")];
    demand(rows.length === tenants.length, `${rows.length} rows`);
    rows.forEach((row, place) => demand(row.cells[0].textContent === tenants[place].name, row.textContent));
    const widths = [...document.querySelector("#tenant-figures").rows].map((row) => row.cells.length);
    demand(widths.every((width) => width === 14), `cells: ${widths.join("|")}`);
    demand(byId("tenants-caption").textContent.includes("Jain"), "no fairness");
  });
  await check("hover reads the throughput of every tenant", async () => {
    const { chart } = fairlane.charts.tenants;
    demand(chart.series.length === tenants.length + 1, `${chart.series.length} lines`);
    demand(chart.series.slice(1).every((line) => line.scale === "y0"), "lines with scales of their own");
    move(chart.over, "mouseenter", 120, 50);
    move(chart.over, "mousemove", 120, 50);
    await pause();
    const values = [...document.querySelectorAll("#chart-tenants .u-value")].map((cell) => cell.textContent);
    demand(values.length === tenants.length + 1 && values.every((text) => text !== ""), `values: ${values.join("|")}`);
  });
  await check("a tenant has one colour on the whole page", () => {
    const { chart } = fairlane.charts.tenants;
    const rgb = (colour) => Object.assign(document.createElement("i").style, { color: colour }).color;
    const lines = tenants.map((_, place) => rgb(chart.series[place + 1].stroke(chart, place + 1)));
    demand(new Set(lines).size === tenants.length, `colours: ${lines.join("|")}`);
    const shownBy = (node) => getComputedStyle(node).backgroundColor;
    document.querySelectorAll("#tenant-figures .spot").forEach((spot, place) => demand(shownBy(spot) === lines[place], `${shownBy(spot)} instead of ${lines[place]}`));
    const named = Object.fromEntries(tenants.map(({ name }, place) => [name, lines[place]]));
    for (const part of document.querySelectorAll(".share-bar span")) demand(shownBy(part) === named[part.title.split(":")[0]], part.title);
    const spots = [...document.querySelectorAll("#slowest td:last-child")];
    demand(spots.length > 0, "no messages");
    for (const cell of spots) demand(shownBy(cell.querySelector(".spot")) === named[cell.textContent], cell.textContent);
  });
  await check("bars of contended links are as long as the shares", () => {
    const rows = [...document.querySelectorAll("#link-shares tr")];
    demand(rows.length === links.length && rows.length > 0, `${rows.length} rows`);
    rows.forEach((row, place) => {
      const bar = row.querySelector(".share-bar"), parts = [...bar.children];
      const shares = links[place].shares.filter((share) => share > 0);
      demand(parts.length === shares.length, `${parts.length} parts`);
      parts.forEach((part, at) => {
        const width = part.getBoundingClientRect().width / bar.getBoundingClientRect().width;
        demand(Math.abs(width - shares[at]) < 0.03, `${width} instead of ${shares[at]}`);
      });
    });
  });
  await check("the slowdown of one tenant can be chosen", async () => {
    const choice = byId("slowdown-tenant");
    demand(choice.offsetParent, "it isn't there");
    const before = pixels(fairlane.charts.slowdown.chart.ctx.canvas);
    demand(choice.options.length === tenants.length + 1, `${choice.options.length} options`);
    select("slowdown-tenant", "1");
    await pause();
    const { chart } = fairlane.charts.slowdown;
    demand(differ(before, pixels(chart.ctx.canvas)), "the drawing didn't change");
    demand(chart.data[3].every((value, place) => value === tenants[1].slowdown[place].p99), "other figures");
    byId("slowdown-linear").click();
    await pause();
    demand(fairlane.charts.slowdown.chart.data[0].length === tenants[1].slowdown.length, "the choice is forgotten");
    byId("slowdown-log").click();
    select("slowdown-tenant", "");
    await pause();
    demand(!differ(before, pixels(fairlane.charts.slowdown.chart.ctx.canvas)), "all tenants look different than before");
  });
}

async function checkAttack() {
  const { lines, window_ns: span } = fairlane.data.attack;
  await check("the attack has its lines and those of the honest run", () => {
    const { chart } = fairlane.charts.attack;
    demand(chart.series.length === 2 * lines.length + 1, `${chart.series.length} lines`);
    demand(byId("attack-title").textContent.includes(fairlane.data.attack.title), "no title");
    demand(inked(chart, 1) > 100 && inked(chart, 3) > 100, "nothing is drawn");
    const own = fairlane.charts.tenants.chart.series[lines[0].tenant + 1];
    demand(chart.series[1].stroke(chart, 1) === own.stroke(chart, 1), "the attacker has another colour than as a tenant");
  });
  await check("the time of the attack is shaded", () => {
    const { chart } = fairlane.charts.attack;
    const { canvas } = chart.ctx;
    const colour = (ns) => pixels(canvas)[Math.round(chart.bbox.top + 3) * canvas.width + Math.round(chart.valToPos(ns, "x", true))];
    // Neither is at a line of the grid.
    const [inside, before] = [span[0] * 1.13, span[0] * 0.87].map(colour);
    demand(inside !== before, "no difference");
  });
}

async function runSelftest() {
  await pause(200);
  await checkPage();
  await checkTables(fairlane.data.slowest.length > 0);
  if (fairlane.data.slowdown.length > 0) {
    await checkCharts();
    await checkSlowdown();
    await checkTimeCharts();
    await checkMap();
    await checkHover();
    await checkDetails();
    await checkDownloads(8);
    if (fairlane.data.tenants) await checkTenants();
    if (fairlane.data.attack) await checkAttack();
    if (fairlane.data.faults.length > 0) await checkFaults();
    if (!fairlane.data.tenants) await check("one tenant has no section", () => demand(byId("tenants").hidden && byId("slowdown-whose").hidden, "there is one"));
  }
  await finish();
}

runSelftest();

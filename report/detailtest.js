// Checks what a report lets its reader look at more closely: percentiles, spans, links, tables, faults.
"use strict";

/** Whether a scale shows little else than its values. */
function fits(scale, values, whole) {
  const [low, high] = extent(scale.distr === 3 ? values.filter((value) => value > 0) : values);
  if (scale.distr === 3) return scale.min > low / 1.5 && scale.max < high * 1.5;
  const span = whole ? high : high - low || high;
  return scale.min >= Math.min(0, low) - 0.1 * span && scale.max <= high + 0.15 * span;
}

async function checkDetails() {
  await check("percentiles that coincide are drawn once", async () => {
    const { shown, charts } = fairlane, bins = shown.data.slowdown;
    shown.data.slowdown = bins.map((bin) => ({ ...bin, p999: bin.p99 }));
    byId("slowdown-linear").click();
    const { chart } = charts.slowdown;
    demand(chart.series.length === 4 && chart.series[3].label === "p99, p99.9", chart.series.map(({ label }) => label).join("|"));
    demand(document.querySelectorAll("#chart-slowdown .u-legend tr").length === 4, "other names");
    shown.data.slowdown = bins;
    byId("slowdown-log").click();
    demand(charts.slowdown.chart.series.length === 5, "all aren't drawn again");
  });
  await check("axes fit the data", () => {
    const { slowdown, completion, queue, throughput, depth } = fairlane.charts;
    demand(fits(slowdown.chart.scales.y, slowdown.chart.data.slice(1).flat()), `slowdown: ${slowdown.chart.scales.y.min} to ${slowdown.chart.scales.y.max}`);
    for (const one of [completion, queue]) demand(fits(one.chart.scales.value, one.chart.data[1]), `${one.chart.scales.value.min} to ${one.chart.scales.value.max}`);
    for (const one of [throughput, depth]) demand(fits(one.chart.scales.y0, one.chart.data[1], true), `up to ${one.chart.scales.y0.max}`);
  });
  await checkSpan();
  await checkLink();
  if (fairlane.data.collectives.count > 0) await checkCollectives();
  await check("the slowest messages come first", () => {
    const { slowest } = fairlane.data, rows = [...byId("slowest").rows];
    demand(rows.length === slowest.length && rows.length === 10, `${rows.length} rows`);
    demand(slowest.every(({ slowdown }, place) => place === 0 || slowdown <= slowest[place - 1].slowdown), "another order");
    demand(rows[0].cells[1].textContent.includes(`host ${slowest[0].source} → `), rows[0].textContent);
  });
}

function checkCollectives() {
  return check("collectives have times, bandwidths and a last rank", () => {
    const { rows } = fairlane.data.collectives, shown = [...byId("collectives").rows];
    demand(shown.length === rows.length && byId("collectives-part").offsetParent, `${shown.length} rows`);
    rows.forEach((one, place) => {
      const cells = [...shown[place].cells].map((cell) => cell.textContent);
      demand(cells[1] === one.what && cells[7] === one.slowest, cells.join("|"));
      demand((one.time_ns === null) === (cells[4] === "not ended") && (one.bus_gbps === null) === (cells[6] === "–"), cells.join("|"));
    });
  });
}

async function checkSpan() {
  const { throughput, depth } = fairlane.charts, times = throughput.chart.data[0];
  const whole = times[times.length - 1];
  const shows = () => [throughput, depth].map(({ chart }) => chart.scales.x.max);
  if (!actionSpan(fairlane.data.series)) {
    await check("a run without a tail is shown whole", () => demand(byId("spans").hidden && shows().every((max) => max === whole), shows().join("|")));
    return;
  }
  await check("a long tail is left out until it is asked for", async () => {
    demand(byId("span-action").offsetParent && !byId("span-words").hidden, "no words, no buttons");
    demand(shows().every((max) => max < whole * 0.6), `${shows().join("|")} of ${whole}`);
    byId("span-whole").click();
    await pause();
    demand(shows().every((max) => max === whole), `${shows().join("|")} of ${whole}`);
    byId("span-action").click();
    await pause();
    demand(shows().every((max) => max < whole * 0.6), `${shows().join("|")} of ${whole}`);
  });
}

async function checkLink() {
  const { map } = fairlane, { view } = map;
  const clickOn = async (port) => {
    const [x1, y1, x2, y2] = view.lanes.subarray(port * 4, port * 4 + 4);
    const at = [x1 + (x2 - x1) * 0.4, y1 + (y2 - y1) * 0.4];
    for (const kind of ["pointermove", "click"]) move(map.canvas, kind, ...at);
    await pause();
    return map.hover.port;
  };
  await check("a click on a link shows its series", async () => {
    demand(byId("link").hidden, "there is one before");
    const port = await clickOn(Math.floor(map.portCount * 0.75));
    demand(byId("link").offsetParent, "nothing is shown");
    demand(byId("link-title").textContent.includes(map.name(map.map.ports.node[port])), byId("link-title").textContent);
    const { chart } = fairlane.charts["link-utilisation"];
    demand(chart.series.length === 3 && inked(chart, 1) > 30, "no line");
    const { count } = map.map.frames;
    demand(chart.data[1].length === count + 1, `${chart.data[1].length} values`);
    demand(chart.data[1].every((value, frame) => value === map.codes.utilisation[Math.min(frame, count - 1) * map.portCount + port] / 255), "other values");
    demand(fairlane.charts["link-queue"], "no queue");
    map.setHover(null);
    demand(countOf(map.canvas, themeColour("accent")) > 20, "it isn't marked on the map");
  });
  await check("the hottest ports come first and show their link", async () => {
    const { hottest } = fairlane.data, rows = [...byId("hottest").rows];
    demand(rows.length === hottest.length && rows.length === 10, `${rows.length} rows`);
    demand(hottest.every(({ utilisation }, place) => place === 0 || utilisation <= hottest[place - 1].utilisation), "another order");
    rows[2].querySelector("button").click();
    await pause();
    demand(map.chosen === hottest[2].port, `port ${map.chosen}`);
    demand(fairlane.charts["link-utilisation"].chart.series[1].label === rows[2].cells[0].textContent, rows[2].textContent);
  });
}

async function checkFaults() {
  const { map, data: { faults } } = fairlane;
  await check("failures are listed", () => {
    const words = [...byId("faults").children].map((item) => item.textContent);
    demand(words.length === faults.length && words[0].includes("failed") && words[1].includes("came back"), words.join("|"));
  });
  await check("charts over time mark failures", () => {
    const { chart } = fairlane.charts.throughput, bad = themeColour("bad");
    demand(countOf(chart.ctx.canvas, bad) > 20, "no mark");
    const { count, start_ns: start, step_ns: step } = map.map.frames;
    demand(count > 0 && faults[0].time_ns > start && faults[1].time_ns < start + count * step, "outside");
    demand(chartSvg(chart).includes(`stroke="${bad}"`), "not in the drawing");
  });
  await check("the map shows a link that is down", async () => {
    const bad = themeColour("bad");
    const { start_ns: start, step_ns: step } = map.map.frames;
    const down = Math.floor((faults[0].time_ns - start) / step) + 1;
    map.show(down);
    demand(countOf(map.canvas, bad) > 20, "no mark while it is down");
    demand(map.isDown(faults[0].port) && map.isDown(map.map.ports.peer[faults[0].port]), "it isn't down");
    map.show(down - 3);
    demand(countOf(map.canvas, bad) === 0, "a mark before it fails");
    map.show(Math.ceil((faults[1].time_ns - start) / step) + 1);
    demand(countOf(map.canvas, bad) === 0, "a mark after it came back");
  });
}

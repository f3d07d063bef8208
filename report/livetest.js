// Checks the page of a run that goes on, with checks.js. Whoever serves it adds it to the page, and is told at "seen"
// that two reports have come, upon which the run is to end, and at "verdict" what came out.
"use strict";

async function until(condition, why) {
  for (let turn = 0; turn < 600; turn++) {
    if (condition()) return;
    await pause(50);
  }
  throw new Error(why);
}

function tell(path, text) {
  return fetch(path, { method: "POST", body: text });
}

async function checkLive() {
  let times = 0, done = 0;
  await check("the first report is shown", async () => {
    await until(() => fairlane.updates >= 1, "none came");
    demand(byId("ending").textContent === "Running", byId("ending").textContent);
    demand(byId("name").textContent === "live", byId("name").textContent);
    demand(document.querySelectorAll(".tile").length >= 10, "too few tiles");
    for (const name of ["throughput", "depth"]) demand(fairlane.charts[name], `no ${name}`);
    demand(inked(fairlane.charts.throughput.chart, 1) > 30, "no line");
    demand(new Set(pixels(fairlane.map.canvas)).size > 5, "no map");
    times = fairlane.data.series.start_ns + fairlane.data.series.step_ns * fairlane.data.series.marks.length;
  });
  await check("the progress of the run is shown", async () => {
    await until(() => !byId("progress").hidden && /transmissions/.test(byId("progress-words").textContent), byId("progress-words").textContent);
    done = byId("progress-words").textContent;
    demand(byId("progress-bar").offsetParent, "no bar");
  });
  await check("another report takes its place", async () => {
    const { map } = fairlane, seen = fairlane.updates;
    map.choose(map.portCount - 1);
    byId("slowdown-linear").click();
    await until(() => fairlane.updates > seen + 1, "none came");
    const { start_ns: start, step_ns: step, marks } = fairlane.data.series;
    demand(start + step * marks.length > times, `still at ${times} ns`);
    demand(document.querySelectorAll("#chart-throughput canvas").length === 1, "the old chart is still there");
    demand(map === fairlane.map && map.chosen === map.portCount - 1 && byId("link").offsetParent, "the chosen link is forgotten");
    demand(map.frame === map.map.frames.count - 1, "the map isn't at the latest frame");
    await until(() => byId("progress-words").textContent !== done, "progress stands still");
  });
  await tell("seen", "");
  await check("the last report stays", async () => {
    await until(() => byId("ending").textContent === "Interrupted", byId("ending").textContent);
    await until(() => byId("progress-words").textContent.includes("has ended"), byId("progress-words").textContent);
    demand(byId("alert").offsetParent && fairlane.data.ending.reason.includes("interrupted"), "no reason");
    demand(!byId("progress-bar").offsetParent, "the bar is still there");
  });
  await finish();
  await tell("verdict", byId("selftest").textContent);
}

checkLive();

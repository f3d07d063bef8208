// Tables of what stands out: the slowest messages, the hottest ports, links that failed.
"use strict";

const OUTCOMES = { completed: "completed", unfinished: "unfinished", "retry-exceeded": "gave up", flushed: "flushed", refused: "refused" };

function fillRows(id, rows) {
  byId(id).replaceChildren(...rows);
}

/** A row of text; `numbers` are its columns of numbers. */
function rowOf(cells, numbers) {
  const row = element("tr");
  row.append(...cells.map((cell, place) => (cell instanceof Node ? cell : element("td", cell, numbers.has(place) ? "number" : ""))));
  return row;
}

function showSlowest({ slowest, tenants }, nodeName) {
  byId("slowest-part").hidden = slowest.length === 0;
  byId("slowest-tenant").hidden = !tenants;
  const rows = slowest.map((one) => {
    const open = one.outcome !== "completed";
    const row = rowOf([
      formatCount(one.id),
      `${nodeName(one.source)} → ${nodeName(one.destination)}`,
      formatBytes(one.size),
      formatTime(one.start_ns, 4),
      `${open ? "over " : ""}${formatTime(one.span_ns)}`,
      `${open ? "over " : ""}${formatTimes(one.slowdown)}`,
      formatCount(one.retransmitted),
      OUTCOMES[one.outcome],
    ], new Set([0, 2, 3, 4, 5, 6]));
    if (tenants) row.append(tenantName(tenants.tenants, one.tenant));
    return row;
  });
  fillRows("slowest", rows);
}

/** Collectives and steps of training, with the rank that each waited for. */
function showCollectives({ collectives: { rows, count } }) {
  byId("collectives-part").hidden = count === 0;
  const some = rows.length < count ? ` The ${rows.length} slowest of ${formatCount(count)} are shown; all are in collectives.parquet.` : "";
  setText("collectives-caption", `Algorithm bandwidth is size over time; bus bandwidth is what a link would carry under the best algorithm.${some}`);
  fillRows("collectives", rows.map((one) => rowOf([
    formatCount(one.step),
    one.what,
    formatCount(one.ranks),
    formatBytes(one.size),
    one.time_ns === null ? "not ended" : formatTime(one.time_ns),
    one.algorithm_gbps === null ? "–" : formatGbps(one.algorithm_gbps),
    one.bus_gbps === null ? "–" : formatGbps(one.bus_gbps),
    one.slowest,
  ], new Set([0, 2, 3, 4, 5, 6]))));
}

/** `choose` gets the port of a row that is clicked. */
function showHottest({ hottest }, portName, choose) {
  byId("hottest-part").hidden = hottest.length === 0;
  const rows = hottest.map((one) => {
    const name = element("td");
    const button = element("button", portName(one.port), "link-button");
    button.type = "button";
    button.title = "Show this link over time";
    button.addEventListener("click", () => choose(one.port));
    name.append(button);
    return rowOf([
      name,
      formatShare(one.utilisation),
      formatShare(one.busiest),
      formatBytes(one.queue_max),
      formatCount(one.marked),
      formatTime(one.paused_ns),
    ], new Set([1, 2, 3, 4, 5]));
  });
  fillRows("hottest", rows);
}

/** Says of each change of a link what it was. */
function showFaults({ faults, map }, linkName) {
  byId("faults").hidden = faults.length === 0;
  const words = faults.map(({ time_ns: time, port, up }) => {
    const item = element("li");
    item.append(element("i", up ? "▲" : "▼", up ? "up" : "down"), ` ${formatTime(time, 4)}: ${map.ports.node.length ? linkName(port) : `link of port ${port}`} ${up ? "came back" : "failed"}`);
    return item;
  });
  byId("faults").replaceChildren(...words);
}

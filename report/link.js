// The link that was chosen on the map, over time, both ways.
"use strict";

const LINK_LINES = [["link-utilisation", "utilisation"], ["link-queue", "queue"]];

/** By frame, what a port did, in shares or bytes. */
function portOverTime(map, mode, port) {
  const { count, queue_min: low, queue_max: high } = map.map.frames;
  const code = (frame) => map.codes[mode][frame * map.portCount + port] ?? 0;
  const value = mode === "queue" ? (frame) => queueBytes({ queue_min: low, queue_max: high }, code(frame)) : (frame) => code(frame) / 255;
  return Array.from({ length: count }, (_, frame) => value(frame));
}

/** Lines of both ways of a link; hosts' own queues aren't the fabric's. */
function linkLines(map, mode, port) {
  const ends = [port, map.map.ports.peer[port]];
  const shown = mode === "queue" ? ends.filter((end) => map.map.nodes.tier[map.map.ports.node[end]] > 0) : ends;
  const format = mode === "queue" ? formatBytes : formatShare;
  return shown.map((end, place) => ({
    values: portOverTime(map, mode, end),
    series: steppedLine(map.portName(end), LINE_COLOURS[ends.indexOf(end)], format, { fill: undefined, width: 2, unit: mode === "queue" ? "bytes" : "share" }),
    ...(place === 0 && { range: fromZero(mode === "queue" ? 1 : 0.01), side: sideAxis(null, format) }),
  }));
}

/** Draws the link's charts with `put(name, draw)`. */
function showLink(map, port, faults, put) {
  byId("link").hidden = false;
  const { node, peer_node: peer, peer: back, rate } = map.map.ports;
  setText("link-title", `Link ${map.name(node[port])} – ${map.name(peer[port])}, ${formatRate(rate[port])}`);
  const ends = [port, back[port]];
  const own = faults.filter((fault) => ends.includes(fault.port));
  const { start_ns, step_ns, count } = map.map.frames;
  const time = { start_ns, step_ns, count, faults: own };
  for (const [name, mode] of LINK_LINES) {
    put(name, (host) => (count === 0 ? showEmpty(host, "No samples.") : timeChart(host, time, linkLines(map, mode, port))));
  }
}

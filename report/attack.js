// The timeline of an attack: throughput of attacker and victims beside that of the honest run.
"use strict";

/** The colour of a line: that of its tenant, if it is about one. */
function attackColour({ tenant }) {
  return tenant === null ? "muted" : tenantColours[tenant] ?? LINE_COLOURS[0];
}

/** Shades a span of time behind the lines of a chart. */
function shade([from, to], colour) {
  return (pen, at, { left, top, width, height }) => {
    const inside = (x) => Math.min(left + width, Math.max(left, x));
    const [a, b] = [from, to].map((ns) => inside(at(ns, "x")));
    pen.fillStyle = wash(colour);
    pen.fillRect(a, top, b - a, height);
  };
}

function attackChart(host, time, { lines, window_ns: span }) {
  if (time.count === 0) return showEmpty(host, "No samples.");
  const drawn = lines.flatMap((one, place) => [
    {
      values: one.gbps,
      series: steppedLine(one.name, attackColour(one), formatGbps, { fill: undefined, width: 2, unit: "Gb/s" }),
      ...(place === 0 && { range: fromZero(0.001), side: sideAxis(null, formatGbps) }),
    },
    {
      values: one.honest_gbps,
      series: steppedLine(`${one.name}, honest run`, attackColour(one), formatGbps, { fill: undefined, dash: [5, 4], unit: "Gb/s" }),
    },
  ]);
  return timeChart(host, time, drawn, [shade(span, attackColour(lines[0]))]);
}

/** Fills the section of the attack, which only the page of a run with one has. */
function showAttack({ attack }) {
  byId("attack").hidden = !attack;
  if (!attack) return;
  const [from, to] = attack.window_ns.map((ns) => formatTime(ns, 4));
  setText("attack-title", `Attack: ${attack.title}`);
  setText("attack-caption", `Payload placed at receivers. The attack lasts from ${from} to ${to} (shaded); dashed, the same tenants in the honest run.`);
}

// The timeline of an attack: throughput of attacker and victims beside that of the honest run.
"use strict";

const ATTACK_COLOURS = ["series-2", "series-1"];

/** Shades a span of time behind the lines of a chart. */
function shade(chart, [from, to]) {
  const { left, top, width, height } = chart.bbox;
  const inside = (x) => Math.min(left + width, Math.max(left, x));
  const [a, b] = [from, to].map((ns) => inside(chart.valToPos(ns, "x", true)));
  chart.ctx.save();
  chart.ctx.fillStyle = wash(ATTACK_COLOURS[0]);
  chart.ctx.fillRect(a, top, b - a, height);
  chart.ctx.restore();
}

function attackChart(host, series, { lines, window_ns: span }) {
  if (series.marks.length === 0) return showEmpty(host, "No samples.");
  const drawn = lines.flatMap(({ name, gbps, honest_gbps: honest }, place) => [
    {
      values: gbps,
      series: steppedLine(name, ATTACK_COLOURS[place], formatGbps, { fill: undefined, width: 2 }),
      ...(place === 0 && { range: fromZero(0.001), side: sideAxis(null, formatGbps) }),
    },
    { values: honest, series: steppedLine(`${name}, honest run`, ATTACK_COLOURS[place], formatGbps, { fill: undefined, dash: [5, 4] }) },
  ]);
  return timeChart(host, series, drawn, { drawClear: [(chart) => shade(chart, span)] });
}

/** Fills the section of the attack, or takes it out of the page of a run without one. */
function showAttack({ attack }) {
  if (!attack) {
    document.getElementById("attack").remove();
    return;
  }
  const [from, to] = attack.window_ns.map((ns) => formatTime(ns, 4));
  setText("attack-title", `Attack: ${attack.title}`);
  setText("attack-caption", `Payload placed at receivers. The attack lasts from ${from} to ${to} (shaded); dashed, the same tenants in the honest run.`);
}

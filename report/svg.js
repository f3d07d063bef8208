// Drawings as SVG: a pen that understands what the page asks of a canvas, and charts drawn with it.
"use strict";

/** Has the methods of a canvas that the page uses, and makes SVG of them. */
class SvgPen {
  constructor(width, height, background) {
    Object.assign(this, { width, height, parts: [], path: [], states: [] });
    Object.assign(this, { strokeStyle: "#000000", fillStyle: "#000000", lineWidth: 1, font: FONT, textAlign: "start", textBaseline: "alphabetic", dash: [], clipId: "" });
    this.fillStyle = background;
    this.fillRect(0, 0, width, height);
  }

  save() {
    const { strokeStyle, fillStyle, lineWidth, font, textAlign, textBaseline, dash, clipId } = this;
    this.states.push({ strokeStyle, fillStyle, lineWidth, font, textAlign, textBaseline, dash, clipId });
  }

  restore() { Object.assign(this, this.states.pop()); }
  setLineDash(dash) { this.dash = dash; }
  beginPath() { this.path = []; }
  moveTo(x, y) { this.path.push(`M${round(x)} ${round(y)}`); }
  lineTo(x, y) { this.path.push(`L${round(x)} ${round(y)}`); }
  closePath() { this.path.push("Z"); }

  rect(x, y, width, height) {
    this.path.push(`M${round(x)} ${round(y)}h${round(width)}v${round(height)}h${round(-width)}Z`);
  }

  roundRect(x, y, width, height) { this.rect(x, y, width, height); }

  /** A whole circle: the page draws no other arcs. */
  arc(x, y, radius) {
    const size = round(radius);
    this.path.push(`M${round(x - radius)} ${round(y)}a${size} ${size} 0 1 0 ${round(2 * radius)} 0a${size} ${size} 0 1 0 ${round(-2 * radius)} 0Z`);
  }

  /** What is drawn until `restore` shows only inside of the path. */
  clip() {
    this.clipId = `clip${this.parts.length}`;
    this.parts.push(`<clipPath id="${this.clipId}"><path d="${this.path.join("")}"/></clipPath>`);
  }

  stroke() {
    if (this.path.length === 0) return;
    const dash = this.dash.length ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
    this.add("path", ` d="${this.path.join("")}" fill="none" stroke="${this.strokeStyle}" stroke-width="${round(this.lineWidth)}"${dash}`);
  }

  fill() {
    if (this.path.length > 0) this.add("path", ` d="${this.path.join("")}" fill="${this.fillStyle}"`);
  }

  fillRect(x, y, width, height) {
    this.add("rect", ` x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" fill="${this.fillStyle}"`);
  }

  /** `turned` text runs upwards. */
  fillText(text, x, y, turned) {
    const anchor = { center: "middle", right: "end", end: "end" }[this.textAlign] ?? "start";
    const shift = { middle: ".35em", top: ".8em" }[this.textBaseline] ?? "0";
    const turn = turned ? ` transform="rotate(-90 ${round(x)} ${round(y)})"` : "";
    const safe = String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;");
    const family = this.font.replace(/^\S+ /, "").replaceAll('"', "'");
    this.add("text", ` x="${round(x)}" y="${round(y)}" dy="${shift}" text-anchor="${anchor}" font-size="12" font-family="${family}" fill="${this.fillStyle}"${turn}`, safe);
  }

  add(kind, attributes, inner) {
    const clip = this.clipId ? ` clip-path="url(#${this.clipId})"` : "";
    this.parts.push(inner === undefined ? `<${kind}${attributes}${clip}/>` : `<${kind}${attributes}${clip}>${inner}</${kind}>`);
  }

  text() {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}">\n${this.parts.join("\n")}\n</svg>\n`;
  }
}

function round(value) {
  return Math.round(value * 100) / 100;
}

/** The plot of a chart in pixels of the page. */
function plotOf(chart) {
  const { left, top, width, height } = chart.bbox;
  return { left: left / devicePixelRatio, top: top / devicePixelRatio, width: width / devicePixelRatio, height: height / devicePixelRatio };
}

/** Where a value is on the page, by scale. */
function placer(chart) {
  const { left, top } = plotOf(chart);
  return (value, scale) => (chart.scales[scale].ori === 0 ? left : top) + chart.valToPos(value, scale);
}

/** A chart as it is shown, with a key in place of the legend. */
function chartSvg(chart) {
  const key = 24;
  const pen = new SvgPen(chart.width, chart.height + key, themeColour("surface"));
  drawKey(pen, chart);
  pen.parts.push(`<g transform="translate(0 ${key})">`);
  const plot = plotOf(chart), at = placer(chart);
  chart.axes.forEach((one) => drawAxis(pen, chart, one, plot, at));
  pen.save();
  pen.beginPath();
  pen.rect(plot.left, plot.top, plot.width, plot.height);
  pen.clip();
  for (const overlay of chart.under ?? []) overlay(pen, at, plot, chart);
  for (const band of chart.bands ?? []) drawBand(pen, chart, at, band);
  chart.series.forEach((_, place) => { if (place > 0) drawSeries(pen, chart, at, place); });
  for (const overlay of chart.overlays ?? []) overlay(pen, at, plot, chart);
  pen.restore();
  pen.parts.push("</g>");
  return pen.text();
}

function drawKey(pen, chart) {
  let x = 8;
  pen.save();
  pen.textBaseline = "middle";
  chart.series.forEach((one, place) => {
    if (place === 0 || one.class === "edge") return;
    pen.fillStyle = one.stroke(chart, place);
    pen.fillRect(x, 14, 14, 3);
    pen.fillStyle = themeColour("ink");
    pen.fillText(one.label, x + 20, 15);
    x += 44 + String(one.label).length * 6.5;
  });
  pen.restore();
}

function drawAxis(pen, chart, one, plot, at) {
  if (!one._splits) return;
  const across = one.side % 2 === 0;
  const end = one.side === 2 ? plot.top + plot.height : one.side === 0 ? plot.top : one.side === 3 ? plot.left : plot.left + plot.width;
  pen.save();
  pen.strokeStyle = themeColour("grid");
  pen.fillStyle = themeColour("muted");
  pen.textBaseline = "middle";
  one._splits.forEach((split, place) => {
    const text = one._values?.[place];
    if (split === null || text === null || text === undefined || text === "") return;
    const spot = at(split, one.scale);
    if (one.grid?.show !== false) {
      pen.beginPath();
      pen.moveTo(across ? spot : plot.left, across ? plot.top : spot);
      pen.lineTo(across ? spot : plot.left + plot.width, across ? plot.top + plot.height : spot);
      pen.stroke();
    }
    pen.textAlign = across ? "center" : one.side === 3 ? "end" : "start";
    pen.fillText(text, across ? spot : end + (one.side === 3 ? -8 : 8), across ? end + (one.side === 2 ? 14 : -14) : spot);
  });
  pen.textAlign = "center";
  const label = typeof one.label === "function" ? one.label(chart) : one.label;
  if (label) {
    if (across) pen.fillText(label, plot.left + plot.width / 2, end + 34);
    else pen.fillText(label, one.side === 3 ? 10 : end + 58, plot.top + plot.height / 2, true);
  }
  pen.restore();
}

/** The points of a series on the page, in runs without gaps. */
function runsOf(chart, at, place) {
  const [xs, values, { scale, spanGaps }] = [chart.data[0], chart.data[place], chart.series[place]];
  const turned = chart.scales[chart.series[0].scale ?? "x"].ori === 1;
  const runs = [[]];
  xs.forEach((x, row) => {
    const value = values[row];
    if (value === null || value === undefined) {
      if (!spanGaps && runs[runs.length - 1].length) runs.push([]);
      return;
    }
    const [along, across] = [at(x, "x"), at(value, scale)];
    runs[runs.length - 1].push(turned ? [across, along] : [along, across]);
  });
  return runs.filter((run) => run.length > 0);
}

function trace(pen, run, shape) {
  run.forEach(([x, y], place) => {
    if (place === 0) return pen.moveTo(x, y);
    if (shape === "stepped") pen.lineTo(x, run[place - 1][1]);
    pen.lineTo(x, y);
  });
}

function drawSeries(pen, chart, at, place) {
  const one = chart.series[place];
  if (one.class === "edge" || one.shape === "none") return;
  const colour = one.stroke(chart, place);
  pen.save();
  for (const run of runsOf(chart, at, place)) {
    pen.strokeStyle = colour;
    pen.lineWidth = one.width;
    pen.setLineDash(one.dash ?? []);
    pen.beginPath();
    trace(pen, run, one.shape);
    pen.stroke();
    if (one.wash) {
      const bottom = at(chart.scales[one.scale].min, one.scale);
      pen.lineTo(run[run.length - 1][0], bottom);
      pen.lineTo(run[0][0], bottom);
      pen.fillStyle = one.wash;
      pen.fill();
    }
    if (!one.dots) continue;
    pen.fillStyle = colour;
    for (const [x, y] of run) { pen.beginPath(); pen.arc(x, y, 3); pen.fill(); }
  }
  pen.restore();
}

function drawBand(pen, chart, at, { series: [high, low], fill }) {
  const [above, below] = [high, low].map((place) => runsOf(chart, at, place).flat());
  pen.save();
  pen.fillStyle = typeof fill === "function" ? fill(chart) : fill;
  pen.beginPath();
  trace(pen, [...above, ...below.reverse()]);
  pen.fill();
  pen.restore();
}

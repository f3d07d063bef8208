// The picture of the map: colours, links, nodes, legend.
"use strict";

const LEVELS = 32;

/** Colours of the scale from "nothing" to "most", from the theme's stops. */
function colourRamp() {
  return Array.from({ length: LEVELS }, (_, level) => `rgb(${rampAt(level / (LEVELS - 1)).join(" ")})`);
}

function levelOf(code) {
  return code === 0 ? 0 : 1 + Math.round(((code - 1) / 254) * (LEVELS - 2));
}

/** The states as a picture, on the screen or in a file. */
class MapPicture extends MapStates {
  recolour() {
    this.ramp = colourRamp();
    this.colours = Object.fromEntries(["ink", "muted", "surface", "host", "bad", "accent"].map((name) => [name, themeColour(name)]));
    this.showLegend();
  }

  resize() {
    if (!this.view) return;
    const width = this.box.clientWidth, height = this.box.clientHeight;
    if (!width || !height) return;
    this.canvas.width = Math.round(width * devicePixelRatio);
    this.canvas.height = Math.round(height * devicePixelRatio);
    this.view.resize(width, height);
    this.draw();
  }

  draw() {
    if (!this.view?.width) return;
    const pen = this.canvas.getContext("2d");
    pen.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    pen.clearRect(0, 0, this.view.width, this.view.height);
    this.drawWith(pen);
    this.drawHover(pen);
  }

  drawWith(pen) {
    this.drawLinks(pen);
    this.drawChosen(pen);
    this.drawFailed(pen);
    this.drawNodes(pen);
    this.drawTierNames(pen);
  }

  /** What is shown, as a file. */
  svg() {
    const pen = new SvgPen(this.view.width, this.view.height, this.colours.surface);
    this.drawWith(pen);
    return pen.text();
  }

  /** One stroke per level, lowest first, so that busy links lie on top. */
  drawLinks(pen) {
    const levels = Array.from({ length: LEVELS }, () => []);
    for (let port = 0; port < this.portCount; port++) levels[levelOf(this.code(this.mode, port))].push(port);
    levels.forEach((ports, level) => {
      for (const host of [true, false]) {
        pen.strokeStyle = this.ramp[level];
        pen.lineWidth = (host ? 1.1 : 1.7) + level / LEVELS;
        pen.beginPath();
        for (const port of ports) if (this.view.isHostLink(port) === host) this.traceLane(pen, port);
        pen.stroke();
      }
    });
  }

  traceLane(pen, port) {
    const { lanes } = this.view;
    pen.moveTo(lanes[port * 4], lanes[port * 4 + 1]);
    pen.lineTo(lanes[port * 4 + 2], lanes[port * 4 + 3]);
  }

  drawChosen(pen) {
    if (this.chosen === null || this.chosen >= this.portCount) return;
    pen.strokeStyle = this.colours.accent;
    pen.lineWidth = 4;
    pen.beginPath();
    this.traceLane(pen, this.chosen);
    this.traceLane(pen, this.map.ports.peer[this.chosen]);
    pen.stroke();
  }

  /** Links that are down are dashed and have a cross in their middle. */
  drawFailed(pen) {
    const { lanes } = this.view;
    for (const port of this.changes.keys()) {
      if (!this.isDown(port)) continue;
      pen.strokeStyle = this.colours.bad;
      pen.lineWidth = 2;
      pen.setLineDash([5, 4]);
      pen.beginPath();
      this.traceLane(pen, port);
      pen.stroke();
      pen.setLineDash([]);
      const [x1, y1, x2, y2] = lanes.subarray(port * 4, port * 4 + 4);
      const x = (x1 + x2) / 2, y = (y1 + y2) / 2;
      pen.lineWidth = 3;
      pen.beginPath();
      for (const side of [-1, 1]) {
        pen.moveTo(x - 6, y - 6 * side);
        pen.lineTo(x + 6, y + 6 * side);
      }
      pen.stroke();
    }
  }

  /** The highest code among the ports of each node, or null where nodes have no colour. */
  nodeCodes() {
    if (this.mode === "utilisation") return null;
    const codes = new Uint8Array(this.map.nodes.x.length);
    this.map.ports.node.forEach((node, port) => { codes[node] = Math.max(codes[node], this.code(this.mode, port)); });
    return codes;
  }

  drawNodes(pen) {
    const codes = this.nodeCodes();
    const { nodeX, nodeY, switchSize, hostSize } = this.view;
    pen.lineWidth = 1.5;
    pen.strokeStyle = this.colours.ink;
    for (let node = 0; node < nodeX.length; node++) {
      const host = this.map.nodes.tier[node] === 0;
      const size = host ? hostSize : switchSize;
      pen.fillStyle = host ? this.colours.host : codes ? this.ramp[levelOf(codes[node])] : this.colours.surface;
      pen.beginPath();
      if (host) pen.arc(nodeX[node], nodeY[node], size / 2, 0, 2 * Math.PI);
      else pen.roundRect(nodeX[node] - size / 2, nodeY[node] - size / 2, size, size, 3);
      pen.fill();
      if (!host) pen.stroke();
    }
  }

  drawHover(pen) {
    if (!this.hover) return;
    pen.strokeStyle = this.colours.ink;
    pen.lineWidth = 2;
    pen.beginPath();
    if (this.hover.node === undefined) {
      this.traceLane(pen, this.hover.port);
      this.traceLane(pen, this.map.ports.peer[this.hover.port]);
    } else {
      const size = this.map.nodes.tier[this.hover.node] === 0 ? this.view.hostSize : this.view.switchSize;
      pen.arc(this.view.nodeX[this.hover.node], this.view.nodeY[this.hover.node], size / 2 + 4, 0, 2 * Math.PI);
    }
    pen.stroke();
  }

  /** Names at the left, at the mean height of each tier, highest tier first. */
  drawTierNames(pen) {
    pen.font = FONT;
    pen.fillStyle = this.colours.muted;
    pen.textBaseline = "middle";
    let above = -Infinity;
    for (let tier = this.map.nodes.tier_names.length - 1; tier >= 0; tier--) {
      const nodes = Array.from(this.map.nodes.tier.keys()).filter((node) => this.map.nodes.tier[node] === tier);
      if (nodes.length === 0) continue;
      const mean = nodes.reduce((sum, node) => sum + this.view.nodeY[node], 0) / nodes.length;
      above = Math.max(mean, above + 18);
      this.writeName(pen, this.map.nodes.tier_names[tier], nodes.length, above);
    }
  }

  writeName(pen, name, count, y) {
    const short = name === "aggregation" && this.view.width < 600 ? "aggr." : name;
    pen.fillText(`${formatCount(count)} ${plural(short, count)}`, 0, y);
  }

  showLegend() {
    const bar = byId("legend-bar").getContext("2d");
    this.ramp.forEach((colour, level) => {
      bar.fillStyle = colour;
      bar.fillRect(Math.floor((level * 256) / LEVELS), 0, Math.ceil(256 / LEVELS), 1);
    });
    const ticks = MODES[this.mode].ticks ?? this.queueTicks();
    byId("legend-ticks").replaceChildren(...ticks.map(([place, text]) => {
      const tick = element("span", text);
      tick.style.left = `${place * 100}%`;
      return tick;
    }));
  }

  queueTicks() {
    const { queue_min: low, queue_max: high } = this.map.frames;
    const place = (bytes) => Math.log(bytes / low) / Math.log(high / low);
    const decades = logSplits(low, high).filter((bytes) => Number.isInteger(Math.log10(bytes)));
    const between = decades.map((bytes) => [place(bytes), formatBytes(bytes, 2)]);
    return [[0, "0"], ...between.filter(([at]) => at > 0.14 && at < 0.82), [1, formatBytes(high, 2)]];
  }
}

function plural(name, count) {
  if (count === 1 || name.endsWith(".")) return name;
  if (name === "leaf") return "leaves";
  if (name === "aggregation") return name;
  return name.endsWith("ch") ? `${name}es` : `${name}s`;
}

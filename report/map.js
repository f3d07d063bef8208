// The map of the fabric: colours, drawing, hover, time slider.
"use strict";

const LEVELS = 32;
const PLAY_MS = 90;
const MODES = {
  utilisation: {
    caption: "Each link is two lines, one per direction, coloured by the bytes sent over the bytes that fit.",
    ticks: [[0, "0"], [0.25, "25\u202f%"], [0.5, "50\u202f%"], [0.75, "75\u202f%"], [1, "100\u202f%"]],
  },
  queue: { caption: "Each direction of a link is coloured by the deepest queue of the switch port that sends on it; switches by their deepest queue." },
  paused: {
    caption: "Each direction of a link is coloured by the share of time in which its sender was paused; switches by their longest-paused port.",
    ticks: [[0, "0"], [0.25, "25\u202f%"], [0.5, "50\u202f%"], [0.75, "75\u202f%"], [1, "100\u202f%"]],
  },
};

function decodeBytes(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

/** Bytes that a code of the logarithmic queue scale stands for. */
function queueBytes(frames, code) {
  if (code === 0) return 0;
  return frames.queue_min * (frames.queue_max / frames.queue_min) ** ((code - 1) / 254);
}

/** Colours of the scale from "nothing" to "most", from the theme's stops. */
function colourRamp() {
  return Array.from({ length: LEVELS }, (_, level) => `rgb(${rampAt(level / (LEVELS - 1)).join(" ")})`);
}

function levelOf(code) {
  return code === 0 ? 0 : 1 + Math.round(((code - 1) / 254) * (LEVELS - 2));
}

/** Changes of links by port, in order of time; each end of a link hears of it. */
function changesByPort(faults, ports) {
  const changes = new Map();
  for (const { time_ns: time, port, up } of faults) {
    for (const end of [port, ports.peer[port]]) changes.set(end, [...(changes.get(end) ?? []), { time, up }]);
  }
  return changes;
}

/**
 * The map with its controls. `onFrame(ns)` hears about every change of the shown time, `onLink(port)` of the link that
 * is chosen. */
class FabricMap {
  constructor(onFrame, onLink) {
    Object.assign(this, { onFrame, onLink });
    this.mode = "utilisation";
    this.hover = this.timer = this.chosen = this.map = null;
    this.canvas = byId("map");
    this.box = byId("map-box");
    this.tip = byId("map-tip");
    this.slider = byId("slider");
    this.linkControls();
    this.linkPointer();
    new ResizeObserver(() => this.resize()).observe(this.box);
  }

  /** Shows a fabric with its states; while a run goes on, the last frame unless another one was asked for. */
  load(map, faults, running) {
    const known = this.map?.nodes.x.length === map.nodes.x.length;
    const follow = running && (!this.map || this.frame === this.map.frames.count - 1);
    this.map = map;
    this.changes = changesByPort(faults, map.ports);
    if (known) this.view.map = map;
    else this.view = new MapView(map);
    this.codes = {};
    for (const mode of Object.keys(MODES)) this.codes[mode] = decodeBytes(map.frames[mode]);
    this.slider.max = Math.max(0, map.frames.count - 1);
    if (follow) this.frame = map.frames.count - 1;
    else if (!known) this.frame = this.busiestFrame();
    this.recolour();
    this.setMode(this.mode);
    this.resize();
    this.show(this.frame);
    const downloads = { svg: () => this.svg(), csv: () => csvText(this.rows()) };
    offerDownloads(this.box, "map", map.ports.node.length ? downloads : null);
  }

  get portCount() {
    return this.map.ports.node.length;
  }

  code(mode, port) {
    return this.codes[mode][this.frame * this.portCount + port] ?? 0;
  }

  busiestFrame() {
    let best = 0, most = -1;
    for (let frame = 0; frame < this.map.frames.count; frame++) {
      const row = this.codes.utilisation.subarray(frame * this.portCount, (frame + 1) * this.portCount);
      const sum = row.reduce((total, code) => total + code, 0);
      if (sum > most) [best, most] = [frame, sum];
    }
    return best;
  }

  // Controls

  linkControls() {
    this.slider.addEventListener("input", () => { this.pause(); this.show(Number(this.slider.value)); });
    byId("play").addEventListener("click", () => (this.timer ? this.pause() : this.play()));
    for (const mode of Object.keys(MODES)) {
      byId(`map-${mode}`).addEventListener("click", () => this.setMode(mode));
    }
    const zoom = (factor) => () => { this.view.zoomAt(factor, this.view.width / 2, this.view.height / 2); this.draw(); };
    byId("zoom-in").addEventListener("click", zoom(1.5));
    byId("zoom-out").addEventListener("click", zoom(1 / 1.5));
    byId("zoom-reset").addEventListener("click", zoom(0));
  }

  setMode(mode) {
    this.mode = mode;
    press("map-", Object.keys(MODES), mode);
    setText("map-caption", `${MODES[mode].caption} Click a link to see it over time.`);
    this.showLegend();
    this.draw();
  }

  play() {
    const button = byId("play");
    button.textContent = "❚❚";
    button.setAttribute("aria-label", "Pause");
    this.timer = setInterval(() => this.show((this.frame + 1) % Math.max(1, this.map.frames.count)), PLAY_MS);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    const button = byId("play");
    button.textContent = "▶";
    button.setAttribute("aria-label", "Play");
  }

  /** Shows a frame and says so. */
  show(frame) {
    const { count, start_ns: start, step_ns: step } = this.map.frames;
    this.frame = Math.min(Math.max(0, frame), Math.max(0, count - 1));
    this.slider.value = this.frame;
    const from = start + this.frame * step;
    byId("map-time").textContent = count ? formatSpan(from, from + step) : "no samples";
    this.draw();
    this.showTip();
    this.timeShown = from + step / 2;
    this.onFrame(this.timeShown);
  }

  /** Shows the frame of a time. */
  showTime(ns) {
    this.pause();
    this.show(Math.floor((ns - this.map.frames.start_ns) / this.map.frames.step_ns));
  }

  /** Whether a port's link is down at any time of the frame that is shown. */
  isDown(port) {
    const changes = this.changes.get(port);
    if (!changes) return false;
    const { start_ns: start, step_ns: step } = this.map.frames;
    const from = start + this.frame * step;
    let down = false;
    for (const { time, up } of changes) {
      if (time >= from + step) break;
      down = !up || (down && time > from);
    }
    return down;
  }

  /** Marks a link and tells of it; nothing takes the mark away. */
  choose(port) {
    this.chosen = port;
    this.draw();
    this.onLink(port);
  }

  // Pointer

  linkPointer() {
    let held = null, dragged = false;
    this.canvas.addEventListener("click", () => {
      if (!dragged && this.hover?.port !== undefined) this.choose(this.hover.port);
    });
    this.canvas.addEventListener("pointerdown", (event) => {
      held = [event.clientX, event.clientY];
      dragged = false;
      this.canvas.setPointerCapture?.(event.pointerId);
    });
    this.canvas.addEventListener("pointerup", () => { held = null; });
    this.canvas.addEventListener("pointerleave", () => { held = null; this.setHover(null); });
    this.canvas.addEventListener("pointermove", (event) => {
      if (held && event.buttons) {
        this.view.pan(event.clientX - held[0], event.clientY - held[1]);
        dragged ||= Math.hypot(event.clientX - held[0], event.clientY - held[1]) > 2;
        held = [event.clientX, event.clientY];
        this.draw();
      }
      const bounds = this.canvas.getBoundingClientRect();
      this.pointer = [event.clientX - bounds.left, event.clientY - bounds.top];
      this.setHover(this.view.find(...this.pointer));
    });
  }

  setHover(found) {
    const same = found?.node === this.hover?.node && found?.port === this.hover?.port;
    this.hover = found;
    if (!same) this.draw();
    this.showTip();
  }

  showTip() {
    this.tip.hidden = !this.hover;
    if (!this.hover) return;
    this.tip.replaceChildren(...(this.hover.node === undefined ? this.linkTip(this.hover.port) : this.nodeTip(this.hover.node)));
    const [x, y] = this.pointer;
    const { offsetWidth: width, offsetHeight: height } = this.tip;
    const left = x + 16 + width > this.view.width ? x - width - 12 : x + 16;
    const top = Math.min(Math.max(0, y - height / 2), Math.max(0, this.view.height - height));
    this.tip.style.transform = `translate(${Math.max(0, left)}px, ${top}px)`;
  }

  name(node) {
    return `${this.map.nodes.tier_names[this.map.nodes.tier[node]]} ${node}`;
  }

  linkTip(port) {
    const { node, peer_node: peer, peer: back, rate, number } = this.map.ports;
    const title = element("strong", `${this.name(node[port])} – ${this.name(peer[port])}`);
    const down = this.isDown(port) ? ", down" : "";
    const small = element("span", `${formatRate(rate[port])}, ports ${number[port]} and ${number[back[port]]}${down}`);
    const head = ["from", "used", "queue", "paused"];
    return [title, small, table(head, [port, back[port]].map((one) => [this.name(node[one]), ...this.figures(one)]))];
  }

  /** Utilisation, queue and paused share of a port, as text. */
  figures(port) {
    const onSwitch = this.map.nodes.tier[this.map.ports.node[port]] > 0;
    const queue = onSwitch ? formatBytes(queueBytes(this.map.frames, this.code("queue", port)), 2) : "–";
    return [formatShare(this.code("utilisation", port) / 255, 2), queue, formatShare(this.code("paused", port) / 255, 2)];
  }

  nodeTip(node) {
    const ports = this.portsOf(node);
    const sum = (list) => list.reduce((total, port) => total + (this.code("utilisation", port) / 255) * this.map.ports.rate[port], 0);
    const most = (mode) => Math.max(0, ...ports.map((port) => this.code(mode, port)));
    const rows = [
      ["sends", formatRate(sum(ports))],
      ["receives", formatRate(sum(ports.map((port) => this.map.ports.peer[port])))],
      ["paused, worst port", formatShare(most("paused") / 255, 2)],
    ];
    if (this.map.nodes.tier[node] > 0) rows.splice(2, 0, ["deepest queue", formatBytes(queueBytes(this.map.frames, most("queue")), 2)]);
    const plural = ports.length === 1 ? "port" : "ports";
    return [element("strong", this.name(node)), element("span", `${ports.length} ${plural}`), table(null, rows)];
  }

  /** A link's direction by the names of its ends. */
  portName(port) {
    return `${this.name(this.map.ports.node[port])} → ${this.name(this.map.ports.peer_node[port])}`;
  }

  portsOf(node) {
    return Array.from(this.map.ports.node.keys()).filter((port) => this.map.ports.node[port] === node);
  }

  // Drawing

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

  /** What all ports do in the frame that is shown. */
  rows() {
    const { node, peer_node: peer, number, rate } = this.map.ports;
    const { start_ns: start, step_ns: step } = this.map.frames;
    const head = ["start_ns", "end_ns", "node", "port", "peer_node", "rate_bps", "utilisation", "queue_max_bytes", "paused_share", "down"];
    const share = (mode, port) => plain(this.code(mode, port) / 255, 3);
    const row = (port) => {
      const from = start + this.frame * step;
      const queue = Math.round(queueBytes(this.map.frames, this.code("queue", port)));
      return [from, from + step, node[port], number[port], peer[port], rate[port], share("utilisation", port), queue, share("paused", port), this.isDown(port)];
    };
    return [head, ...Array.from(node.keys(), row)];
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

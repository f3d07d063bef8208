// What the map shows: states of ports by frame, and what is said of links and nodes.
"use strict";

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

/** Changes of links by port, in order of time; each end of a link hears of it. */
function changesByPort(faults, ports) {
  const changes = new Map();
  for (const { time_ns: time, port, up } of faults) {
    for (const end of [port, ports.peer[port]]) changes.set(end, [...(changes.get(end) ?? []), { time, up }]);
  }
  return changes;
}

/** The states of a fabric, of which one frame is shown. */
class MapStates {
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
}

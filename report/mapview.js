// Geometry of the map: from places of 0 to 1 to pixels, zoom, and what lies under the pointer.
"use strict";

/** Half the distance between the two directions of a link, in pixels. */
const LANE = 1.7;
/** From one of several links between two nodes to the next. */
const BESIDE = 3 * LANE;
const REACH = 7;

/** Room around the drawing for the names of tiers and the size of nodes. */
function mapMargins(width) {
  return { left: width < 600 ? 64 : 96, right: 16, top: 14, bottom: 14 };
}

/**
 * By port, how many links its link is to the right of the middle of all links between its two nodes, as seen from the
 * port's own node; 0 for a link that is alone.
 */
function besideEachOther({ node, peer_node: peer, peer: back }) {
  const groups = new Map();
  for (let port = 0; port < node.length; port++) {
    if (back[port] < port) continue;
    const key = `${Math.min(node[port], peer[port])}-${Math.max(node[port], peer[port])}`;
    groups.set(key, [...(groups.get(key) ?? []), port]);
  }
  const beside = new Float32Array(node.length);
  for (const ports of groups.values()) {
    ports.forEach((port, index) => {
      const right = (index - (ports.length - 1) / 2) * (node[port] < peer[port] ? 1 : -1);
      beside[port] = right;
      beside[back[port]] = -right;
    });
  }
  return beside;
}

/** Pixel places of all nodes, and of the lane of each port. */
class MapView {
  constructor(map) {
    this.map = map;
    this.zoom = 1;
    this.shift = [0, 0];
    const nodes = map.nodes.x.length, ports = map.ports.node.length;
    this.nodeX = new Float32Array(nodes);
    this.nodeY = new Float32Array(nodes);
    this.lanes = new Float32Array(ports * 4);
    this.beside = besideEachOther(map.ports);
    this.switchSize = 12;
    this.hostSize = 5;
  }

  resize(width, height) {
    this.width = width;
    this.height = height;
    this.place();
  }

  /** Computes the pixels anew after a change of size, zoom or shift. */
  place() {
    const { left, right, top, bottom } = mapMargins(this.width);
    const across = this.width - left - right, down = this.height - top - bottom;
    const { x, y } = this.map.nodes;
    for (let node = 0; node < x.length; node++) {
      this.nodeX[node] = (left + x[node] * across) * this.zoom + this.shift[0];
      this.nodeY[node] = (top + y[node] * down) * this.zoom + this.shift[1];
    }
    this.chooseSizes(across);
    this.placeLanes();
  }

  /** Nodes shrink until neighbours in the fullest row don't touch. */
  chooseSizes(across) {
    const counts = this.map.nodes.tier_names.map(() => 0);
    for (const tier of this.map.nodes.tier) counts[tier]++;
    const fullest = Math.max(1, ...counts.slice(1));
    const spacing = (across / fullest) * this.zoom;
    this.switchSize = Math.min(16, Math.max(5, spacing * 0.42));
    const rows = new Set(this.map.nodes.y.filter((_, node) => this.map.nodes.tier[node] === 0)).size;
    const hostSpacing = (across / Math.max(1, counts[0] / Math.min(rows, 8))) * this.zoom;
    this.hostSize = Math.min(8, Math.max(3, hostSpacing * 0.68));
  }

  /** Each direction keeps to its right-hand side of the link. */
  placeLanes() {
    const { node, peer_node: peer } = this.map.ports;
    for (let port = 0; port < node.length; port++) {
      const x1 = this.nodeX[node[port]], y1 = this.nodeY[node[port]];
      const x2 = this.nodeX[peer[port]], y2 = this.nodeY[peer[port]];
      const length = Math.hypot(x2 - x1, y2 - y1) || 1;
      const lane = this.isHostLink(port) ? LANE * 0.6 : LANE;
      const aside = lane + this.beside[port] * BESIDE;
      const dx = (-(y2 - y1) / length) * aside, dy = ((x2 - x1) / length) * aside;
      this.lanes.set([x1 + dx, y1 + dy, x2 + dx, y2 + dy], port * 4);
    }
  }

  isHostLink(port) {
    const { tier } = this.map.nodes;
    return tier[this.map.ports.node[port]] === 0 || tier[this.map.ports.peer_node[port]] === 0;
  }

  /** Changes the zoom, keeping the given pixel where it is. */
  zoomAt(factor, x, y) {
    const zoom = Math.min(12, Math.max(1, this.zoom * factor));
    const change = zoom / this.zoom;
    this.shift = [x - (x - this.shift[0]) * change, y - (y - this.shift[1]) * change];
    this.zoom = zoom;
    this.pan(0, 0);
  }

  /** Moves the drawing, never so far that its edge comes inside the frame. */
  pan(dx, dy) {
    const limit = (shift, size) => Math.min(0, Math.max(size * (1 - this.zoom), shift));
    this.shift = [limit(this.shift[0] + dx, this.width), limit(this.shift[1] + dy, this.height)];
    this.place();
  }

  /** The node or link under a pixel: {node}, {port} (either direction of the link) or null. */
  find(x, y) {
    return this.findNode(x, y) ?? this.findLink(x, y);
  }

  findNode(x, y) {
    let best = null, nearest = Infinity;
    for (let node = 0; node < this.nodeX.length; node++) {
      const distance = Math.hypot(this.nodeX[node] - x, this.nodeY[node] - y);
      const reach = (this.map.nodes.tier[node] === 0 ? this.hostSize : this.switchSize) / 2 + 2;
      if (distance <= reach && distance < nearest) [best, nearest] = [{ node }, distance];
    }
    return best;
  }

  findLink(x, y) {
    let best = null, nearest = REACH;
    for (let port = 0; port < this.map.ports.node.length; port++) {
      const distance = this.distanceTo(port, x, y);
      if (distance < nearest) [best, nearest] = [{ port }, distance];
    }
    return best;
  }

  /** From a pixel to the lane of a port. */
  distanceTo(port, x, y) {
    const [x1, y1, x2, y2] = this.lanes.subarray(port * 4, port * 4 + 4);
    const dx = x2 - x1, dy = y2 - y1;
    const along = ((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy || 1);
    const part = Math.min(1, Math.max(0, along));
    return Math.hypot(x - x1 - part * dx, y - y1 - part * dy);
  }
}

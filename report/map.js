// The map of the fabric: controls, hover, click, time slider.
"use strict";

const PLAY_MS = 90;

/**
 * The map with its controls. `onFrame(ns)` hears about every change of the shown time, `onLink(port)` of the link that
 * is chosen. */
class FabricMap extends MapPicture {
  constructor(onFrame, onLink) {
    super();
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
}

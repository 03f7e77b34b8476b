// The map as a person handles it: move, zoom, point at, click, lasso, and a legend that chooses groups.
// Texts of documents become text nodes, never markup.

const MAPS = new WeakMap();
const NEAR = 9, ZOOM = 1.4, MOST_CHOSEN = 50, CORNERS = 48; // pixels; one step; points by Shift and click; of a lasso
const SHADES = 24, DIMMED = 0.13, THINNED = 0.75, HIDDEN = 255; // THINNED: opacity that points lose in the densest haze
const TOOLS = 48, RANKED = 10, BADGE = 9; // pixels of the tools above; hits with their rank, in a disc of so many pixels

class PointMap {
  constructor(root) {
    const find = (selector) => root.querySelector(selector);
    [this.field, this.over, this.tip, this.legend, this.tools] = [".field", ".over", ".tip", ".legend", ".tools"].map(find);
    this.raster = new Raster(find(".points"));
    this.haze = new Haze();
    this.labels = new Labels(find(".topics"), (...topic) => this.follow(...topic));
    this.times = new Times(find(".times"), (days, done) => this.between(days, done));
    this.pen = this.over.getContext("2d");
    this.tool = "move";
    this.watcher = new ResizeObserver(() => this.resize());
    this.listen();
  }

  /** Takes up what the server sent. The same map as before keeps its view and what is chosen on it. */
  show(bytes, send) {
    this.send = send;
    const came = decode(bytes), before = this.head;
    this.marks = new Map(came.head.marks.map((mark) => [mark.row, mark]));
    if (before?.key === came.head.key) return this.redraw();
    Object.assign(this, came, { chosen: came.head.chosen, lines: [], pointed: -1, hovered: null });
    this.labels.show(this.head.labels);
    this.times.show(this.head.times, this.days, this.chosen.days);
    inflated(this.zipped).then((lines) => (this.lines = lines));
    this.tip.hidden = true;
    this.dark = undefined; // the legend is drawn with the points
    if (before?.layout !== this.head.layout) {
      this.grid = new Grid(this.places);
      this.zoomed = 1;
      this.resize();
    }
    this.light();
  }

  /** Chooses rows, an area or a group; the days stay. */
  choose(chosen) {
    this.chosen = this.chosen.days ? { ...chosen, days: this.chosen.days } : chosen;
    this.light();
    this.send("chosen", this.chosen);
  }

  /** Shows the points between two days, or of all days. */
  between(days, done) {
    const { days: _, ...chosen } = this.chosen;
    this.chosen = days ? { ...chosen, days } : chosen;
    this.light();
    if (done) this.send("chosen", this.chosen);
  }

  // ---- the view: pixel = place * s + o

  resize() {
    const dense = (this.dense = Math.min(window.devicePixelRatio || 1, 2));
    const [width, height] = [this.field.clientWidth, this.field.clientHeight].map((one) => Math.round(one * dense));
    if (!width || !this.grid) return;
    const { view, zoomed, over } = this, kept = view && zoomed > 1; // a window of another size shows the same part
    const middle = kept && [(this.middle() - view.ox) / view.sx, (over.height / 2 - view.oy) / view.sy];
    this.raster.resize(width, height);
    Object.assign(this.over, { width, height });
    this.home();
    if (kept) this.enlarge(middle, zoomed);
  }

  /** How many pixels at the left, or at the right, lie under what floats there. */
  covered(side) {
    return this.dense * (parseFloat(getComputedStyle(this.field).getPropertyValue(`--covered-${side}`)) || 0);
  }

  /** The middle of what is free across. */
  middle() {
    return (this.over.width + this.covered("left") - this.covered("right")) / 2;
  }

  home() {
    const { low, high } = this.grid, { width, height } = this.over, edge = 18 * this.dense, covered = this.covered("left");
    const [left, top, bottom] = [edge + covered, covered ? TOOLS * this.dense : edge, covered && this.head.times ? 68 * this.dense : edge];
    const sx = (width - left - this.covered("right") - edge) / (high[0] - low[0] || 1), sy = -(height - top - bottom) / (high[1] - low[1] || 1);
    this.view = { sx, sy, ox: left - low[0] * sx, oy: height - bottom - low[1] * sy };
    this.zoomed = 1;
    this.redraw();
  }

  zoom(by, x = this.middle(), y = this.over.height / 2) {
    const factor = Math.min(Math.max(this.zoomed * by, 1), 400) / this.zoomed, { sx, sy, ox, oy } = this.view;
    if (this.zoomed * factor < 1.001) return this.home();
    this.zoomed *= factor;
    this.view = { sx: sx * factor, sy: sy * factor, ox: x + (ox - x) * factor, oy: y + (oy - y) * factor };
    this.redraw();
  }

  /** Shows the part of the map from `low` to `high`, enlarged at least so much; where that is no part, around `at`. */
  follow(low, high, at, least) {
    const { width, height } = this.over, home = (size) => Math.abs(size) / this.zoomed;
    const across = width / ((high[0] - low[0]) * home(this.view.sx) || 1), down = height / ((high[1] - low[1]) * home(this.view.sy) || 1);
    const fitting = 0.85 * Math.min(across, down), wanted = Math.min(Math.max(fitting, least, 1), 400);
    const middle = wanted > fitting ? at : [(low[0] + high[0]) / 2, (low[1] + high[1]) / 2];
    this.enlarge(middle, wanted);
  }

  /** Shows what is around a place, enlarged so much. */
  enlarge(middle, wanted) {
    const { height } = this.over, sx = (this.view.sx / this.zoomed) * wanted, sy = (this.view.sy / this.zoomed) * wanted;
    this.zoomed = wanted;
    this.view = { sx, sy, ox: this.middle() - middle[0] * sx, oy: height / 2 - middle[1] * sy };
    this.redraw();
  }

  move(dx, dy) {
    this.view.ox += dx * this.dense;
    this.view.oy += dy * this.dense;
    this.redraw();
  }

  // ---- drawing

  redraw() {
    if (!this.view || this.asked) return;
    this.asked = requestAnimationFrame(() => {
      this.asked = 0;
      this.draw();
    });
  }

  draw() {
    const began = performance.now(), style = getComputedStyle(this.field), background = rgb(style.backgroundColor);
    const dark = background[0] < 128, colours = this.colours(dark), { groups, palette, radius, count } = this.head;
    const looks = colours.flatMap((colour, at) => {
      const shape = at < groups.length && at >= palette.length ? "square" : "disc";
      const layer = at === colours.length - 1 ? 0 : 1; // the grey ones lie below
      return [{ colour, shape, opacity: this.lit ? DIMMED : 0.8, layer }, { colour, shape, opacity: 1, layer: 2 }];
    });
    this.size = radius * this.dense * Math.min(this.zoomed ** 0.25, 3);
    const { width, height } = this.over, cell = CELL * this.dense;
    const share = this.haze.draw(this.places, this.view, looks, this.lookOf, this.size, width, height, cell);
    const thinned = looks.map((look) => (look.opacity === 1 ? look : { ...look, opacity: look.opacity * (1 - THINNED * share) }));
    const haze = share ? { canvas: this.haze.canvas, cell } : null;
    this.raster.draw(this.places, this.view, thinned, this.lookOf, this.size, background, haze);
    this.drawOver(style.color, style.getPropertyValue("--st-primary-color").trim() || style.color);
    const toPixels = ([x, y]) => [(x * this.view.sx + this.view.ox) / this.dense, (y * this.view.sy + this.view.oy) / this.dense];
    const covered = (box) => this.grid.count(box.map((one) => one * this.dense), this.view, (row) => this.lookOf[row] !== HIDDEN);
    const [across, down, left, right] = [width, height, this.covered("left"), this.covered("right")].map((one) => one / this.dense);
    const taken = [[0, 0, left, down], [across - right, 0, across, down], [0, 0, across, left && TOOLS]].filter((box) => box[0] < box[2] && box[1] < box[3]);
    this.labels.place(toPixels, this.zoomed, across, down, [...taken, ...this.badges(toPixels)], covered);
    this.field.dataset.haze = share.toFixed(2);
    if (dark !== this.dark) this.drawLegend(colours, dark);
    this.field.style.touchAction = this.tool === "lasso" || this.zoomed > 1 ? "none" : "pan-y";
    this.field.dataset.drawn = `${count} points in ${(performance.now() - began).toFixed(1)} ms`;
  }

  /** The colours of the groups, or the shades of a number; the last one is grey. */
  colours(dark) {
    const { groups, palette, ramp, grey } = this.head;
    const [from, to] = dark ? [0.22, 1] : [0, 0.88]; // the end of the ramp that is lost in the background is left out
    const shade = (_, at) => between(ramp, from + ((to - from) * at) / (SHADES - 1));
    const made = ramp.length ? Array.from({ length: SHADES }, shade) : groups.map((_, at) => rgb(palette[at % palette.length]));
    return [...made, rgb(grey)];
  }

  /** Which of the colours each point has. */
  buckets() {
    const { groups, ramp, low, high } = this.head, share = (SHADES - 1) / (high - low || 1);
    if (!ramp.length) return Uint8Array.from(this.levels, (level) => (level >= 0 ? level : groups.length));
    return Uint8Array.from(this.levels, (level) => (level === level ? Math.round((level - low) * share) : SHADES));
  }

  /** What stands above the points: rings around single ones, and the lasso. */
  drawOver(colour, accent) {
    const { pen, view, places, dense } = this, line = (corners) => {
      pen.beginPath();
      for (const [x, y] of corners) pen.lineTo(x, y);
      pen.closePath();
      pen.globalAlpha = 0.08;
      pen.fill();
      pen.globalAlpha = 1;
      pen.stroke();
    };
    pen.clearRect(0, 0, this.over.width, this.over.height);
    this.drawMarks(accent);
    Object.assign(pen, { strokeStyle: colour, fillStyle: colour, lineWidth: 2 * dense });
    for (const row of [...(this.chosen.rows ?? []), this.pointed].filter((one) => one >= 0)) {
      pen.beginPath();
      pen.arc(places[2 * row] * view.sx + view.ox, places[2 * row + 1] * view.sy + view.oy, this.size + 3 * dense, 0, 7);
      pen.stroke();
    }
    if (this.chosen.area) line(this.chosen.area.map(([x, y]) => [x * view.sx + view.ox, y * view.sy + view.oy]));
    if (this.lasso) line(this.lasso);
  }

  /** Rings around the hits of a search; the best ones have their ranks beside them, the best of all on top. */
  drawMarks(accent) {
    const { pen, view, places, dense } = this, [red, green, blue] = rgb(accent);
    const ink = 0.299 * red + 0.587 * green + 0.114 * blue < 140 ? "white" : "black";
    Object.assign(pen, { lineWidth: 2 * dense, strokeStyle: accent, textAlign: "center", textBaseline: "middle" });
    pen.font = `600 ${11 * dense}px ${getComputedStyle(this.field).fontFamily}`;
    for (const { row, rank } of [...this.marks.values()].reverse()) {
      if (this.lookOf[row] === HIDDEN) continue;
      const x = places[2 * row] * view.sx + view.ox, y = places[2 * row + 1] * view.sy + view.oy;
      pen.beginPath();
      pen.arc(x, y, this.size + 3 * dense, 0, 7);
      pen.stroke();
      if (rank > RANKED) continue;
      const above = y - this.size - (BADGE + 4) * dense;
      pen.fillStyle = accent;
      pen.beginPath();
      pen.arc(x, above, BADGE * dense, 0, 7);
      pen.fill();
      pen.fillStyle = ink;
      pen.fillText(rank, x, above + 0.5 * dense);
    }
  }

  /** The boxes around the ranks of hits, which no label covers. */
  badges(toPixels) {
    const size = this.size / this.dense, ranked = [...this.marks.values()].filter(({ rank }) => rank <= RANKED);
    return ranked.map(({ row }) => {
      const [x, y] = toPixels([this.places[2 * row], this.places[2 * row + 1]]);
      return [x - BADGE, y - size - 2 * BADGE - 4, x + BADGE, y + size + 4];
    });
  }

  /** Which points stand out: those of the group under the pointer, else the chosen ones; null for all alike. */
  light() {
    const { area, group } = this.chosen, code = this.hovered ?? group, { places, levels } = this;
    const test = code !== undefined ? (i) => levels[i] === code : area && ((i) => within(area, places[2 * i], places[2 * i + 1]));
    this.lit = Boolean(test);
    const [from, until] = this.chosen.days ?? [], out = (i) => !(this.days[i] >= from && this.days[i] <= until);
    const hides = Boolean(this.chosen.days && this.head.times);
    this.lookOf = this.buckets().map((bucket, i) => (hides && out(i) ? HIDDEN : 2 * bucket + (test?.(i) ? 1 : 0)));
    this.press();
    this.redraw();
  }

  drawLegend(colours, dark) {
    this.dark = dark;
    this.legend.replaceChildren(...legendOf(this.head, colours));
    this.press();
  }

  press() {
    for (const each of this.legend.querySelectorAll("button"))
      each.ariaPressed = Number(each.dataset.code) === this.chosen.group ? "true" : "false";
  }

  // ---- the pointer and the keys

  listen() {
    const { field, legend, tools } = this, on = (where, what, then) => where.addEventListener(what, then);
    on(field, "pointerdown", (event) => this.down(event));
    on(field, "pointermove", (event) => (this.drag ? this.dragged(event) : this.point(event)));
    on(field, "pointerup", (event) => this.up(event));
    on(field, "pointercancel", () => this.drop());
    on(field, "pointerleave", () => this.point(null));
    on(field, "wheel", (event) => {
      if (!(event.ctrlKey || event.metaKey || event.altKey)) return; // the wheel alone moves the page
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 300), ...this.at(event));
    });
    on(field, "keydown", (event) => this.key(event));
    on(tools, "click", ({ target }) => this.use(target.closest("button")?.dataset.use));
    const code = ({ target }) => target.closest?.("button")?.dataset.code;
    on(legend, "click", (event) => {
      const found = code(event);
      if (found !== undefined) this.choose(Number(found) === this.chosen.group ? {} : { group: Number(found) });
    });
    for (const [what, here] of [["pointerover", true], ["pointerout", false], ["focusin", true], ["focusout", false]])
      on(legend, what, (event) => {
        this.hovered = here && code(event) !== undefined ? Number(code(event)) : null;
        this.light();
      });
  }

  use(tool) {
    if (tool === "move" || tool === "lasso") this.tool = tool;
    if (tool === "in" || tool === "out") this.zoom(tool === "in" ? ZOOM : 1 / ZOOM);
    if (tool === "home") this.home();
    if (tool === "labels") this.labels.shown = !this.labels.shown;
    for (const each of this.tools.children)
      if (each.ariaPressed) each.ariaPressed = String(each.dataset.use === "labels" ? this.labels.shown : each.dataset.use === this.tool);
    this.field.classList.toggle("drawing", this.tool === "lasso");
    this.redraw();
  }

  key(event) {
    const step = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] }[event.key];
    const tool = { "+": "in", "=": "in", "-": "out", 0: "home" }[event.key];
    if (!step && !tool && event.key !== "Escape") return;
    event.preventDefault();
    if (step) this.move(...step);
    else if (tool) this.use(tool);
    else if (this.drag) this.drop();
    else this.choose({});
  }

  at(event) {
    const { left, top } = this.field.getBoundingClientRect();
    return [(event.clientX - left) * this.dense, (event.clientY - top) * this.dense];
  }

  down(event) {
    if (event.button || !this.view) return;
    this.field.setPointerCapture(event.pointerId);
    const lasso = (this.tool === "lasso") !== event.shiftKey;
    this.drag = { x: event.clientX, y: event.clientY, far: 0, lasso, on: event.target };
    if (lasso) this.lasso = [this.at(event)];
  }

  dragged(event) {
    const { drag } = this, dx = event.clientX - drag.x, dy = event.clientY - drag.y;
    drag.far += Math.hypot(dx, dy);
    if (drag.far < 4) return;
    this.point(null);
    [drag.x, drag.y] = [event.clientX, event.clientY];
    if (!drag.lasso) return this.move(dx, dy);
    this.lasso.push(this.at(event));
    this.redraw();
  }

  up(event) {
    const { drag, lasso, view } = this;
    this.drop();
    if (!drag) return;
    if (drag.far < 4) return this.labels.use(drag.on) || this.click(event);
    if (!lasso || lasso.length < 3) return;
    const every = Math.max(1, lasso.length / CORNERS);
    const corners = Array.from({ length: Math.min(lasso.length, CORNERS) }, (_, at) => lasso[Math.floor(at * every)]);
    this.choose({ area: corners.map(([x, y]) => [(x - view.ox) / view.sx, (y - view.oy) / view.sy]) });
  }

  drop() {
    this.drag = this.lasso = undefined;
    this.redraw();
  }

  click(event) {
    const row = this.under(event), before = this.chosen.rows ?? [];
    if (row < 0) return this.choose({});
    if (!event.shiftKey) return this.choose({ rows: [row] });
    this.choose({ rows: before.includes(row) ? before.filter((one) => one !== row) : [...before, row].slice(-MOST_CHOSEN) });
  }

  /** The row of the point under the pointer, or -1. */
  under(event) {
    return this.grid.nearest(...this.at(event), this.view, NEAR * this.dense, (row) => this.lookOf[row] !== HIDDEN);
  }

  /** Tells what the point under the pointer is. */
  point(event) {
    const row = event && this.view && !event.target.matches?.(".topic") ? this.under(event) : -1;
    if (row === this.pointed) return;
    this.pointed = row;
    this.tip.hidden = row < 0 || !this.lines.length;
    if (!this.tip.hidden) {
      const [path, text] = this.lines[row].split("\t");
      this.tip.replaceChildren(element("b", "", path), element("span", "told", this.told(row)), element("span", "", text));
      const x = (this.places[2 * row] * this.view.sx + this.view.ox) / this.dense, wide = this.field.clientWidth;
      const y = (this.places[2 * row + 1] * this.view.sy + this.view.oy) / this.dense;
      const left = Math.min(Math.max(x + 14, 4), Math.max(wide - this.tip.offsetWidth - 4, 4));
      const below = y + 14 + this.tip.offsetHeight < this.field.clientHeight;
      Object.assign(this.tip.style, { left: `${left}px`, top: `${below ? y + 14 : Math.max(y - 14 - this.tip.offsetHeight, 4)}px` });
    }
    this.redraw();
  }

  told(row) {
    const { groups, title, ramp, missing, times } = this.head, level = this.levels[row], mark = this.marks.get(row);
    const number = level === level ? Number(level.toPrecision(6)) : missing[0], day = times && this.days[row];
    const parts = [ramp.length ? `${title}: ${number}` : groups[level] ?? missing[0], day && day === day ? iso(day) : ""];
    if (mark) parts.push(`hit ${mark.rank}`, [mark.match, mark.strength].filter(Boolean).join(" "));
    return parts.filter(Boolean).join(" · ");
  }
}

/** Whether (x, y) lies within the corners (even-odd rule). */
function within(corners, x, y) {
  let inside = false;
  for (let at = 0, last = corners.length - 1; at < corners.length; last = at++) {
    const [ax, ay] = corners[at], [bx, by] = corners[last];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
  }
  return inside;
}

export default function ({ data, parentElement, setStateValue }) {
  const here = MAPS.get(parentElement); // also behind an end: Streamlit may begin again on the same elements
  const map = here?.field === parentElement.querySelector(".field") ? here : new PointMap(parentElement);
  MAPS.set(parentElement, map);
  map.watcher.observe(map.field);
  map.show(data, setStateValue);
  return () => {
    map.watcher.disconnect();
    map.times.stop();
  };
}

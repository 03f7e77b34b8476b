// The time slider under the map: two handles over the number of passages in each part of the time, and a window that moves.

const STOPS = 200, BARS = 50, FRAME_MS = 120, WINDOW = 0.15; // places of a handle; bars; of the playing; its share of the time
const DAY_MS = 86_400_000, FIRST_DAY = 719_163; // 1970-01-01 as Python counts days

class Times {
  /** `changed` is called with [first, last] day, or null for all, and whether the person has let go of the handle. */
  constructor(root, changed) {
    this.root = root;
    this.changed = changed;
    this.bars = element("div", "bars");
    this.bars.setAttribute("aria-hidden", "true");
    [this.low, this.high] = ["From", "Until"].map((name) => {
      const handle = Object.assign(element("input", ""), { type: "range", min: 0 });
      handle.setAttribute("aria-label", name);
      handle.addEventListener("input", () => this.told(handle, false));
      handle.addEventListener("change", () => this.told(handle, true));
      return handle;
    });
    this.text = element("span", "dates");
    this.player = element("button", "", "Play");
    this.player.type = "button";
    this.player.addEventListener("click", () => this.play());
    this.all = element("button", "", "All dates");
    this.all.type = "button";
    this.all.addEventListener("click", () => this.set(0, this.stops, true));
    const slider = element("div", "slider");
    slider.append(this.bars, this.low, this.high);
    root.append(this.player, slider, this.text, this.all);
  }

  /** Takes the days of the points, from the first to the last; null where there are none. */
  show(span, days, chosen) {
    this.stop();
    this.root.hidden = !span;
    if (!span) return;
    [this.first, this.last] = span;
    this.stops = Math.min(STOPS, this.last - this.first);
    for (const handle of [this.low, this.high]) handle.max = this.stops;
    const counts = new Array(Math.min(BARS, this.stops + 1)).fill(0), whole = this.last - this.first + 1;
    for (const day of days) if (day === day) counts[Math.floor(((day - this.first) / whole) * counts.length)]++;
    const most = Math.max(...counts);
    this.bars.replaceChildren(...counts.map((count) => {
      const bar = element("span", "");
      bar.style.height = `${count ? Math.max(6, (100 * count) / most) : 0}%`;
      return bar;
    }));
    const [from, until] = chosen ?? span;
    this.put(this.stopOf(from), this.stopOf(until));
  }

  dayOf(stop) {
    return this.first + Math.round((stop * (this.last - this.first)) / this.stops);
  }

  stopOf(day) {
    return Math.min(Math.max(Math.round(((day - this.first) / (this.last - this.first)) * this.stops), 0), this.stops);
  }

  /** The chosen days; null for all. */
  get days() {
    const [low, high] = [Number(this.low.value), Number(this.high.value)];
    return low === 0 && high === this.stops ? null : [this.dayOf(low), this.dayOf(high)];
  }

  /** Moves the handles, and writes what they say. */
  put(low, high) {
    this.low.value = low;
    this.high.value = high;
    const [from, until] = [low, high].map((stop) => iso(this.dayOf(stop)));
    this.low.setAttribute("aria-valuetext", from);
    this.high.setAttribute("aria-valuetext", until);
    this.text.textContent = `${from} – ${until}`;
    this.all.disabled = low === 0 && high === this.stops;
    this.low.style.zIndex = low > this.stops / 2 ? 2 : 1; // so that both can be taken where they meet
    [...this.bars.children].forEach((bar, at) => {
      const middle = ((at + 0.5) / this.bars.children.length) * this.stops;
      bar.classList.toggle("out", middle < low || middle > high);
    });
  }

  told(handle, done) {
    this.stop();
    const [low, high] = [Number(this.low.value), Number(this.high.value)];
    if (low > high) this.put(...(handle === this.low ? [high, high] : [low, low]));
    this.set(Number(this.low.value), Number(this.high.value), done);
  }

  set(low, high, done) {
    if (done) this.stop();
    this.put(low, high);
    this.changed(this.days, done);
  }

  /** Moves a window over the time, from its beginning to its end; a second click stops it where it is. */
  play() {
    if (this.playing) {
      this.stop();
      return this.changed(this.days, true);
    }
    const wide = this.days ? Number(this.high.value) - Number(this.low.value) : Math.ceil(WINDOW * this.stops);
    const step = Math.max(1, Math.round(this.stops / 60));
    let at = this.days && Number(this.high.value) < this.stops ? Number(this.low.value) : 0;
    this.player.textContent = "Pause";
    this.playing = setInterval(() => {
      this.set(at, Math.min(at + wide, this.stops), false);
      if (at + wide >= this.stops || !this.root.isConnected) {
        this.stop();
        this.changed(this.days, true);
      }
      at += step;
    }, FRAME_MS);
  }

  stop() {
    clearInterval(this.playing);
    this.playing = undefined;
    this.player.textContent = "Play";
  }
}

/** A day, as Python numbers it, as an ISO date. */
function iso(day) {
  return new Date((day - FIRST_DAY) * DAY_MS).toISOString().slice(0, 10);
}

// Labels of topics on the map: coarse ones from far away, finer ones as one comes nearer; none covers another.
// Each is a button that shows the map at its topic.

const FROM = [1, 1.8, 4.5], MOST_LABELS = 24; // how much the map is enlarged where each level begins; at a time
const SIZES = [15, 13, 12], PADDING = 10, GAP = 4, EDGE = 2; // pixels of the letters of each level, and around them
const SHIFTS = [0, -1, 1, -2, 2]; // heights of a label by which it may be moved

class Labels {
  constructor(root, follow) {
    this.root = root;
    this.follow = follow;
    this.shown = true;
    this.topics = [];
    this.pen = document.createElement("canvas").getContext("2d");
    root.addEventListener("click", (event) => {
      if (!event.detail) this.use(event.target); // by a key: the pointer is the map's
    });
  }

  /** Takes the topics, coarse ones first; of one level the largest first. */
  show(topics) {
    const written = JSON.stringify(topics);
    if (written === this.written) return;
    this.written = written;
    const family = getComputedStyle(this.root).fontFamily;
    const ordered = [...topics].sort((one, other) => one.level - other.level || other.size - one.size);
    this.topics = ordered.map((topic) => {
      this.pen.font = `${topic.level ? 500 : 700} ${SIZES[topic.level]}px ${family}`;
      return { ...topic, across: this.pen.measureText(topic.name).width + PADDING, down: SIZES[topic.level] + PADDING, button: null };
    });
    this.root.replaceChildren();
  }

  /** Places those for which there is room in a map of so many pixels, a little above or below where fewer points are
   *  covered: `covered` counts them. */
  place(toPixels, zoomed, width, height, taken, covered) {
    let room = MOST_LABELS;
    for (const topic of this.topics) {
      const [x, y] = toPixels(topic.at), { across, down, level } = topic, near = this.shown && room && zoomed >= FROM[level];
      const box = (shift) => [x - across / 2, y + shift - down / 2, x + across / 2, y + shift + down / 2];
      const inside = ([left, top, right, bottom]) => left >= EDGE && top >= EDGE && right <= width - EDGE && bottom <= height - EDGE;
      const free = (found) => inside(found) && !taken.some((other) => overlaps(found, other));
      const shifts = near ? SHIFTS.map((times) => times * (down + GAP)).filter((each) => free(box(each))) : [];
      const points = shifts.map((each) => covered(box(each))), shift = shifts[points.indexOf(Math.min(...points))];
      if (shift !== undefined) [room] = [room - 1, taken.push(box(shift))];
      this.set(topic, shift !== undefined, x, y + (shift ?? 0));
    }
  }

  set(topic, seen, x, y) {
    if (!seen && !topic.button) return;
    topic.button ??= this.made(topic);
    topic.button.hidden = !seen;
    if (seen) topic.button.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px) translate(-50%, -50%)`;
  }

  made(topic) {
    const button = element("button", `topic level${topic.level}`, topic.name);
    button.type = "button";
    button.setAttribute("aria-label", `${topic.name}: zoom in, ${topic.size.toLocaleString("en")} passages`);
    button.title = `${topic.size.toLocaleString("en")} passages`;
    this.root.append(button);
    return button;
  }

  /** Shows the map at the topic of this button. Returns whether it is one. */
  use(target) {
    const topic = this.topics.find((each) => each.button === target);
    if (topic) this.follow(topic.low, topic.high, topic.at, FROM[topic.level + 1] ?? 1);
    return Boolean(topic);
  }
}

const overlaps = (one, other) =>
  one[0] < other[2] + GAP && other[0] < one[2] + GAP && one[1] < other[3] + GAP && other[1] < one[3] + GAP;

// The values and ranges that narrow a search, with counts: a column beside the hits, in a narrow window a sheet over them.

const FIRST = 6; // values of a facet
const COLUMNS = new WeakMap();

class Facets {
  constructor(parent) {
    this.whole = new Set(); // facets of which all values are shown
    this.panel = make("div", "facets");
    this.panel.setAttribute("role", "region");
    this.panel.setAttribute("aria-label", "Filters");
    const root = make("div", "hits", this.panel);
    root.addEventListener("keydown", (event) => event.key === "Escape" && document.body.dataset.filters && closeSheet());
    parent.append(root);
    this.root = root;
  }

  send(event, fields) {
    this.trigger("told", { event, ...fields });
  }

  show(bytes, trigger) {
    this.trigger = trigger;
    const written = new TextDecoder().decode(bytes);
    if (written === this.written) return;
    this.written = written;
    const { facets, filtered } = JSON.parse(written), focused = document.activeElement?.dataset.name;
    const counts = facets.some((facet) => facet.values?.some((value) => value.here !== null));
    const all = filtered ? "that pass the other filters" : "in the index";
    const told = counts ? `Documents among the hits shown, of all ${all}. Bars count all ${all}.` : `Documents ${all}.`;
    const close = button("Close", "close-sheet", () => closeSheet(), "Back to the hits (Escape)");
    const shown = facets.filter((facet) => facet.bars || facet.values.length).map((facet) => this.facet(facet));
    this.panel.replaceChildren(make("div", "sheet-bar", make("h2", "", "Filters"), close), ...shown);
    this.panel.title = told;
    if (focused) this.panel.querySelector(`[data-name="${CSS.escape(focused)}"]`)?.focus();
  }

  facet(facet) {
    const group = make("div", "facet", own(make("div", "label", facet.label)));
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", facet.label);
    if (facet.bars) group.append(...this.bars(facet));
    else group.append(this.values(facet));
    return group;
  }

  /** The first values, and a button for the others. */
  values({ key, values, more }) {
    const made = values.map(({ value, label, count, here, on }) => {
      const entry = button("", "", () => this.send("facet", { key, value }), here === null ? label : `${label}: in ${here} of the hits shown`);
      entry.append(own(make("span", "value", label)), make("span", "count", String(count ?? here ?? "")));
      entry.setAttribute("aria-pressed", String(on));
      entry.dataset.name = `${key} ${value}`;
      entry.classList.toggle("absent", here === 0);
      return entry;
    });
    const rest = made.slice(FIRST), whole = this.whole.has(key), list = make("div", "values", ...made);
    for (const each of rest) each.hidden = !whole && each.getAttribute("aria-pressed") === "false";
    if (rest.some((each) => each.hidden)) {
      const opener = button(`${rest.length} more`, "rest", () => {
        this.whole.add(key);
        for (const each of rest) each.hidden = false;
        rest[0].focus();
        opener.remove();
      });
      list.append(opener);
    } else if (more) list.append(make("span", "count", `${more} more under Advanced`));
    return list;
  }

  /** A bar for each part of the range. A click chooses one part, drawing over several chooses all of them. */
  bars({ key, bars }) {
    const most = Math.max(1, ...bars.map((bar) => bar.count)), made = bars.map(({ label, count, on }, at) => {
      const part = make("span", "");
      part.style.height = `${(100 * count) / most}%`;
      const bar = button("", on ? "on" : "", (event) => event.detail || choose(at, at), `${label}: ${count}`);
      bar.setAttribute("aria-label", `${label}: ${count} documents`);
      bar.append(part);
      return bar;
    });
    const choose = (one, other) => this.send("range", { key, first: Math.min(one, other), last: Math.max(one, other) });
    const field = make("div", "bars", ...made), at = (event) => {
      const { left, width } = field.getBoundingClientRect();
      return Math.min(Math.max(Math.floor(((event.clientX - left) / width) * bars.length), 0), bars.length - 1);
    };
    let from = null;
    const brush = (to) => made.forEach((bar, i) => bar.classList.toggle("brushed", to !== null && i >= Math.min(from, to) && i <= Math.max(from, to)));
    field.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      field.setPointerCapture(event.pointerId);
      brush((from = at(event)));
    });
    field.addEventListener("pointermove", (event) => from !== null && brush(at(event)));
    field.addEventListener("pointerup", (event) => {
      if (from !== null) choose(from, at(event));
      from = null;
    });
    field.addEventListener("pointercancel", () => { brush(null); from = null; });
    const ends = make("div", "ends", make("span", "", bars[0].label.split(" – ")[0]), make("span", "", bars.at(-1).label.split(" – ").at(-1)));
    return [field, ends];
  }
}

/** The sheet of a narrow window is closed; the focus goes back to the button that has opened it. */
function closeSheet() {
  delete document.body.dataset.filters;
  document.querySelector(".hits .filters")?.focus();
}

export default function ({ data, parentElement, setTriggerValue }) {
  if (!COLUMNS.has(parentElement)) COLUMNS.set(parentElement, new Facets(parentElement));
  const facets = COLUMNS.get(parentElement);
  facets.show(data, setTriggerValue);
  return () => {
    delete document.body.dataset.filters;
    facets.root.remove();
    COLUMNS.delete(parentElement);
  };
}

// What narrows the search: chips to remove, and facets with counts; a range of a number or a date is drawn over its bars.

class Refine {
  constructor(list) {
    this.list = list;
    this.row = make("div", "refine");
    this.panel = make("div", "facets");
    this.panel.hidden = true;
  }

  show({ chips = [], facets = null, refinable = false, filtered = false }) {
    const written = JSON.stringify([chips, facets, refinable, filtered]);
    if (written === this.written) return;
    this.written = written;
    const focused = document.activeElement?.dataset.name;
    this.row.replaceChildren(...(refinable ? [this.opener(facets)] : []), ...chips.map((chip) => this.chip(chip)));
    if (chips.length > 1) this.row.append(button("Clear all", "", () => this.list.send("drop", { name: "" })));
    this.panel.hidden = !facets;
    const counts = (facets ?? []).some((facet) => facet.values?.some((value) => value.here !== null));
    const all = filtered ? "that pass the other filters" : "in the index";
    const told = counts ? `Documents among the hits shown, of all ${all}. Bars count all ${all}.` : `Documents ${all}.`;
    this.panel.replaceChildren(make("p", "counted", told), ...(facets ?? []).map((facet) => this.facet(facet)));
    if (focused) this.list.root.querySelector(`[data-name="${CSS.escape(focused)}"]`)?.focus();
  }

  opener(facets) {
    const opener = button("Refine", "", () => this.list.send("refine", {}), "Values and ranges of the documents' metadata");
    opener.dataset.name = "refine";
    opener.setAttribute("aria-expanded", String(Boolean(facets)));
    return opener;
  }

  chip({ name, label }) {
    const cross = button("×", "", () => this.list.send("drop", { name }), "Remove this condition");
    cross.setAttribute("aria-label", `Remove ${label}`);
    return make("span", "chip", label, cross);
  }

  facet(facet) {
    const group = make("div", "facet", make("div", "label", facet.label));
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", facet.label);
    if (facet.bars) group.append(...this.bars(facet));
    else group.append(this.values(facet));
    return group;
  }

  values({ key, values, more }) {
    const made = values.map(({ value, label, count, here, on }) => {
      const entry = button(label, "", () => this.list.send("facet", { key, value }));
      entry.setAttribute("aria-pressed", String(on));
      entry.dataset.name = `${key} ${value}`;
      const counted = [here, count].filter((one) => one !== null);
      if (counted.length) entry.append(make("span", "count", counted.join(" of ")));
      entry.classList.toggle("absent", here === 0);
      return entry;
    });
    return make("div", "values", ...made, more ? make("span", "count", `${more} more in the sidebar`) : null);
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
    const choose = (one, other) => this.list.send("range", { key, first: Math.min(one, other), last: Math.max(one, other) });
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

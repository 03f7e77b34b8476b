// Beside the box: completions of what is typed, and under an empty one the recent and the saved searches.

const PAUSE = 250, LEAST_TYPED = 3; // milliseconds without a key; letters

class Start {
  constructor(list) {
    this.list = list;
    this.panel = make("div", "start");
    this.panel.hidden = true;
    this.completions = make("datalist", "");
    this.completions.id = "hits-completions";
  }

  show({ start, suggestions = [] }) {
    if (suggestions.length) this.completions.replaceChildren(...suggestions.map((text) => new Option(text, text)));
    const written = JSON.stringify(start);
    if (written === this.written) return;
    this.written = written;
    this.panel.hidden = !start;
    this.panel.replaceChildren(...(start ? [this.recent(start), this.saved(start)] : []).filter(Boolean));
  }

  recent({ recent, remember, switch: label }) {
    const keep = make("input", ""), send = (event, fields) => this.list.send(event, fields);
    keep.type = "checkbox";
    keep.checked = remember;
    keep.addEventListener("change", () => send("remember", { on: keep.checked }));
    const tools = make("div", "tools", make("label", "", keep, ` ${label}`));
    if (recent.length) tools.append(button("Clear", "", () => send("forget", { kind: "recent", url: "" })));
    return recent.length ? this.section("Recent searches", "recent", recent, tools) : tools;
  }

  saved({ saved }) {
    return saved.length ? this.section("Saved searches", "saved", saved, null) : null;
  }

  section(title, kind, searches, tools) {
    const rows = searches.map(({ label, url }) => {
      const link = make("a", "", label), cross = button("×", "", () => this.list.send("forget", { kind, url }), "Remove from the list");
      link.href = `?${url}`; // of this page, whatever the list says
      link.target = "_self";
      cross.setAttribute("aria-label", `Remove ${label}`);
      return make("li", "", link, cross);
    });
    return make("section", "", make("h2", "", title), make("ul", "", ...rows), tools);
  }

  /** Whether the arrow keys belong to the completions: the box has another text than was asked. */
  completes(box) {
    return box.value.trim() !== this.list.data.asked.trim();
  }

  typed(box) {
    box.setAttribute("list", this.completions.id);
    clearTimeout(this.waiting);
    const text = box.value.trim();
    if (text.length < LEAST_TYPED) return this.completions.replaceChildren();
    const known = [...this.completions.children].some((each) => each.value === text); // one of them was taken
    if (!known) this.waiting = setTimeout(() => this.list.root.isConnected && this.completes(box) && this.list.send("typed", { text }), PAUSE);
  }
}

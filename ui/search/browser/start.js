// Under the empty box: the recent and the saved searches.

class Start {
  constructor(list) {
    this.list = list;
    this.panel = make("div", "start");
    this.panel.hidden = true;
  }

  show({ start }) {
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
    const alike = (one) => (other) => other.label === one.label && other.same === one.same; // with and without the only index
    const rows = searches.filter((one, at) => searches.findIndex(alike(one)) === at).map(({ label, more, url }) => {
      const link = own(make("a", "", label)), cross = button("×", "", () => this.list.send("forget", { kind, url }), "Remove from the list");
      link.href = `?${url}`; // of this page, whatever the list says
      link.target = "_self";
      cross.setAttribute("aria-label", `Remove ${label}`);
      return make("li", "", link, more ? make("span", "restricted", more) : null, cross);
    });
    return make("section", "", make("h2", "", title), make("ul", "", ...rows), tools);
  }
}

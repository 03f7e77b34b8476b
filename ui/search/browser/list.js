// All hits of an answer, and the document beside them. The server sends everything to show; events go back to it.

const LISTS = new WeakMap();
const DECODER = new TextDecoder();

class HitList {
  constructor(parent) {
    this.root = make("div", "hits");
    this.list = make("ol", "list");
    this.foot = make("div", "foot");
    this.said = make("span", "said");
    this.said.setAttribute("role", "status");
    this.reader = new Reader(this);
    this.start = new Start(this);
    this.head = make("div", "toolbar");
    this.more = button("More hits", "grow", () => this.send("grow", {}));
    this.root.append(this.head, this.start.panel, make("div", "columns", make("div", "results", this.list, this.more, this.foot), this.reader.pane));
    this.chosen = new Set();
    this.unfolded = false;
    parent.append(this.root);
    this.end = listenToKeys(this);
  }

  show(bytes, send) {
    this.trigger = send;
    const written = DECODER.decode(bytes);
    if (written === this.written) return;
    this.written = written;
    const data = (this.data = JSON.parse(written)), keys = data.hits.map((hit) => hit.key).join("\n");
    if (keys !== this.keys) this.begin(keys);
    const drawn = JSON.stringify([data.hits, data.unfolded, data.above, Boolean(data.judged)]);
    if (drawn !== this.drawn) this.draw(drawn);
    this.grade();
    this.start.show(data);
    this.more.hidden = !data.more;
    this.drawHead();
    this.drawFoot();
    this.reader.show(data.reader);
    this.root.classList.toggle("reading", !this.reader.pane.hidden);
    this.mark();
    if (data.file && data.file.number !== this.file) saved(data.file);
    this.file = data.file?.number ?? this.file;
  }

  /** Another answer: nothing is chosen, and what is no better than chance is folded. */
  begin(keys) {
    this.keys = keys;
    this.chosen.clear();
    this.unfolded = false;
  }

  draw(drawn) {
    this.drawn = drawn;
    const focused = this.focused()?.dataset.key, { hits, above } = this.data;
    const cards = hits.flatMap((hit) => [cardOf(hit, this, this.chosen.has(hit.key)), ...this.inside(hit)]);
    if (above < hits.length && hits[0].lead !== "Best:") this.fold(cards, hits[above].key, above, hits.length - above);
    this.list.replaceChildren(...cards);
    if (focused) this.cards().find((each) => each.dataset.key === focused)?.querySelector(".title").focus();
  }

  /** The other passages of a hit, where they are unfolded. */
  inside(hit) {
    const { unfolded } = this.data;
    if (unfolded?.key !== hit.key) return [];
    return [make("li", "inside", make("ol", "", ...unfolded.hits.map((each) => cardOf(each, this, false))))];
  }

  /** The line where chance begins; what is below it is folded, unless all is. */
  fold(cards, first, above, count) {
    const at = cards.findIndex((each) => each.dataset.key === first), below = cards.slice(at);
    const folded = () => above > 0 && !this.unfolded;
    const label = () => `No better than chance: ${count} ${above ? "more " : ""}${count === 1 ? "hit" : "hits"}`;
    const line = above ? button(label(), "", () => { this.unfolded = !this.unfolded; draw(); }) : make("span", "", label());
    const draw = () => {
      for (const each of below) each.hidden = folded();
      if (above) line.setAttribute("aria-expanded", String(!folded()));
    };
    line.title = "A question that nothing here answers finds something as near more often than not.";
    draw();
    cards.splice(at, 0, make("li", "chance", line));
  }

  /** What restricts the search, how many hits there are, their order, and what can be done with all of them. */
  drawHead() {
    const { foot, kinds, hits, chips = [], sort, sorts, note, asked } = this.data, chosen = this.chosen.size;
    const focused = document.activeElement?.dataset.name;
    const write = (kind) => [kind, () => this.send("export", { kind, keys: [...this.chosen] })];
    const orders = [["Relevance", () => this.send("sort", { by: "" })], ...Object.entries(sorts).map(([by, label]) => [label, () => this.send("sort", { by })])];
    const filters = button("Filters", "filters", () => this.openSheet(), "What the search can be narrowed to");
    const tools = make("span", "tools");
    if (hits.length) tools.append(
      menu(`Sort: ${sorts[sort] ?? "Relevance"}`, "down", orders),
      menu(chosen ? `Export ${chosen} selected` : "Export", "down", kinds.map(write)),
      button("Save", "", () => this.save(), "List this search under the empty box, with a name"));
    tools.append(button("Keys", "keys", () => this.help(), "All keys (?)"));
    const count = foot.split(" · ", 1)[0], told = hits.length ? make("span", "counted", [count, note].filter(Boolean).join(", ")) : null;
    if (told) told.title = foot;
    this.head.replaceChildren(...[filters, told, ...chips.map((chip) => this.chip(chip))].filter(Boolean));
    if (chips.length > 1) this.head.append(button("Clear all", "", () => this.send("drop", { name: "" })));
    this.head.append(this.said, tools);
    this.head.hidden = !hits.length && !chips.length && !asked.trim();
    if (focused) this.head.querySelector(`[data-name="${CSS.escape(focused)}"]`)?.focus();
  }

  chip({ name, label }) {
    const cross = button("×", "", () => this.send("drop", { name }), "Remove this condition");
    cross.setAttribute("aria-label", `Remove ${label}`);
    cross.dataset.name = name;
    return make("span", "chip", make("bdi", "", label), cross);
  }

  drawFoot() {
    this.root.dataset.done = this.data.done;
    this.foot.replaceChildren(make("p", "times", this.data.foot));
  }

  /** The filters over the hits, in a narrow window. */
  openSheet() {
    document.body.dataset.filters = "open";
    document.querySelector(".facets .close-sheet")?.focus();
  }

  mark() {
    for (const each of this.cards()) each.classList.toggle("opened", each.dataset.key === this.reader.key);
  }

  /** The grade of a hit's document; undefined where it was not judged. */
  gradeOf({ record }) {
    return this.data.judged?.[record.index]?.[record.document];
  }

  /** Shows the grades on the cards that are there; a click on a thumb draws no card anew. */
  grade() {
    const { hits, unfolded } = this.data, known = new Map([...hits, ...(unfolded?.hits ?? [])].map((hit) => [hit.key, hit]));
    for (const each of this.cards()) {
      const thumbs = each.querySelector(".thumbs"), hit = known.get(each.dataset.key);
      if (thumbs && hit) showGrade(thumbs, this.gradeOf(hit));
    }
  }

  /** Marks a hit's document, at once here and then in the judgements; the same thumb again takes the mark back. */
  judge(hit, grade) {
    const before = this.gradeOf(hit), { index, document } = hit.record;
    const same = before !== undefined && before > 0 === grade > 0, next = same ? undefined : grade;
    this.data.judged[index] = { ...this.data.judged[index], [document]: next };
    this.grade();
    this.say(next === undefined ? "Mark removed" : next ? "Marked as helpful" : "Marked as not helpful");
    this.written = null; // what the server says next counts
    this.send("judge", { key: hit.key, grade: next ?? null });
  }

  judgeFocused(grade) {
    this.focused()?.querySelector(`.thumb[data-grade="${grade}"]`)?.click();
  }

  send(event, fields) {
    this.trigger("told", { event, ...fields });
  }

  open(key) {
    const { hits, unfolded } = this.data;
    this.reader.expect([...hits, ...(unfolded?.hits ?? [])].find((hit) => hit.key === key));
    this.root.classList.toggle("reading", !this.reader.pane.hidden);
    this.mark();
    if (!this.list.offsetHeight) this.reader.pane.scrollIntoView(); // it stands in place of the hits in a narrow window
    this.send("open", { key });
  }

  close() {
    const key = this.reader.key;
    this.reader.show(null);
    this.root.classList.remove("reading");
    this.mark();
    this.send("open", { key: "" });
    this.cards().find((each) => each.dataset.key === key)?.querySelector(".title").focus();
  }

  choose(key, on) {
    if (on) this.chosen.add(key);
    else this.chosen.delete(key);
    this.drawHead();
  }

  chooseFocused() {
    this.focused()?.querySelector(".choose")?.click();
  }

  async copy(what, text) {
    await copied(text);
    this.say(`${what} copied`);
  }

  /** Asks for a name; the question itself is one. */
  save() {
    const field = make("input", ""), dialog = make("dialog", "help", make("h2", "", "Save this search"), field);
    field.value = this.data.asked;
    field.setAttribute("aria-label", "Name of the search");
    const keep = () => {
      this.send("save", { name: field.value === this.data.asked ? "" : field.value });
      this.say("Saved");
      dialog.close();
    };
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault(); // or the key would press the button that has opened the dialog, once that has the focus back
      keep();
    });
    dialog.append(make("div", "row", button("Save", "primary", keep), button("Cancel", "", () => dialog.close())));
    this.showDialog(dialog, "Save this search");
    field.select();
  }

  showDialog(dialog, name) {
    dialog.setAttribute("aria-label", name);
    dialog.addEventListener("close", () => dialog.remove());
    this.root.append(dialog);
    dialog.showModal();
  }

  say(text) {
    this.said.textContent = text;
    setTimeout(() => (this.said.textContent = ""), 3000);
  }

  // ---- the keys

  cards() {
    return [...this.list.querySelectorAll(".hit")];
  }

  focused() {
    return document.activeElement?.closest?.(".hit");
  }

  move(by) {
    const shown = this.cards().filter((each) => !each.closest("[hidden]"));
    if (!shown.length) return;
    const at = shown.indexOf(this.focused()), next = shown[Math.min(Math.max(at + by, 0), shown.length - 1)];
    next.querySelector(".title").focus();
    next.scrollIntoView({ block: "nearest" });
  }

  back(box) {
    if (closeMenu()) return;
    if (document.body.dataset.filters) return document.querySelector(".close-sheet")?.click();
    if (!this.reader.pane.hidden) return this.close();
    box?.focus();
    box?.select();
  }

  help() {
    this.showDialog(helpOf(), "Keys");
  }
}

export default function ({ data, parentElement, setTriggerValue }) {
  if (!LISTS.has(parentElement)) LISTS.set(parentElement, new HitList(parentElement));
  const list = LISTS.get(parentElement);
  list.show(data, setTriggerValue);
  return () => {
    list.end();
    list.root.remove();
    LISTS.delete(parentElement);
  };
}

// The reading pane: the document at the open passage, a strip of all its matches, the page of a PDF, and what is near.

class Reader {
  constructor(list) {
    this.list = list;
    this.pane = make("section", "reader");
    this.pane.setAttribute("aria-label", "Document");
    this.pane.hidden = true;
  }

  /** Shows at once what is known of a hit, until its document comes. */
  expect(hit) {
    if (!hit || this.key === hit.key) return;
    this.key = hit.key;
    this.pane.hidden = false;
    const page = hit.kind === "PDF" ? [this.image({ coming: true })] : [];
    this.pane.replaceChildren(this.head(hit.title, hit.place, []), ...page, piecesOf("div", "text passage whole", [["open", hit.text]]));
  }

  /** Draws what the server sent; null closes the pane. */
  show(data) {
    const written = JSON.stringify(data);
    if (written === this.written) return;
    const same = this.shown && data && this.shown.key === data.key, top = this.text?.scrollTop;
    Object.assign(this, { written, shown: data, key: data?.key ?? "" });
    this.pane.hidden = !data;
    if (!data) return this.pane.replaceChildren();
    this.text = make("div", "text passage whole", ...blocksOf(data));
    this.text.tabIndex = 0;
    const frame = make("div", "frame", this.text, this.strip(data));
    const left = data.left ? make("p", "note", data.left) : null;
    const parts = [this.head(data.title, data.place, data.matches), this.image(data.image), frame, left, this.near(data.near)];
    this.pane.replaceChildren(...parts.filter(Boolean));
    if (same) this.text.scrollTop = top;
    else this.scroll(data.key);
  }

  head(title, place, matches) {
    const at = matches.findIndex((each) => each.key === this.key), step = (by, label, sign) => {
      const other = matches[at + by];
      const made = button(sign, "", () => this.go(other.key), `${label} match in this document (${by > 0 ? "n" : "p"})`);
      made.setAttribute("aria-label", `${label} match`);
      made.disabled = !other;
      return made;
    };
    const close = button("Close", "", () => this.list.close(), "Close the document (Escape)");
    const bar = make("div", "bar-of-reader", own(make("h2", "", title)), close);
    const told = make("div", "told", placeOf(place));
    if (matches.length > 1) told.append(step(-1, "Previous", "◀"), `match ${at + 1} of ${matches.length}`, step(1, "Next", "▶"));
    return make("header", "", bar, told);
  }

  /** A line as long as the document, with a mark for each match. */
  strip({ matches, key }) {
    const strip = make("div", "strip");
    for (const each of matches) {
      const mark = button("", each.key === key ? "here" : "", () => this.go(each.key));
      mark.tabIndex = -1;
      mark.setAttribute("aria-hidden", "true");
      mark.style.top = `${100 * each.at}%`;
      strip.append(mark);
    }
    return strip;
  }

  image(image) {
    if (!image) return null;
    if (image.coming) return make("figure", "", make("div", "sheet coming", "Drawing the page …"), make("figcaption", "", "\u00a0"));
    if (image.problem) return make("p", "note", image.problem);
    const picture = make("img", "");
    picture.src = image.url;
    picture.addEventListener("load", () => {
      sheet.scrollTop = picture.clientHeight * (image.boxes[0]?.[1] ?? 0) - 40;
    });
    picture.alt = `page ${image.page} of ${image.pages}`;
    const boxes = image.boxes.map(([left, top, width, height]) => {
      const box = make("span", "box");
      Object.assign(box.style, { left: `${100 * left}%`, top: `${100 * top}%`, width: `${100 * width}%`, height: `${100 * height}%` });
      return box;
    });
    const turn = (label, page) => {
      const made = button(label, "", () => this.list.send("turn", { page }));
      made.disabled = page < 1 || page > image.pages;
      return made;
    };
    const passage = image.page === this.shown.page ? "" : ` · the passage is on page ${this.shown.page}`;
    const sheet = make("div", "sheet", make("div", "paper", picture, ...boxes));
    sheet.tabIndex = 0; // so that the keys can scroll it
    const row = make("figcaption", "", turn("Previous page", image.page - 1), `page ${image.page} of ${image.pages}${passage}`,
      turn("Next page", image.page + 1));
    return make("figure", "", sheet, row);
  }

  near(near) {
    if (!near.length) return null;
    const rows = near.map(({ key, title, place, text }) => {
      const open = own(button(title, "title", () => this.list.open(key)));
      return make("li", "", make("h3", "", open), placeOf(place), own(make("p", "", text)));
    });
    return make("div", "near", make("h3", "label", "Nearest passages"), make("ul", "", ...rows));
  }

  /** The match before or after the open one. */
  step(by) {
    const matches = this.shown?.matches ?? [], at = matches.findIndex((each) => each.key === this.key);
    if (matches[at + by]) this.go(matches[at + by].key);
  }

  go(key) {
    this.scroll(key);
    this.list.open(key);
  }

  scroll(key) {
    const mark = this.text?.querySelector(`[data-match="${CSS.escape(key)}"]`);
    if (mark) this.text.scrollTop += mark.getBoundingClientRect().top - this.text.getBoundingClientRect().top - 60;
  }
}

/** A table, whose first `head` rows name its columns. */
function tableOf(rows, head) {
  const lines = rows.map((cells, at) => make("tr", "", ...cells.map((pieces) => piecesOf(at < head ? "th" : "td", "", pieces))));
  return make("div", "table", make("table", "", ...lines));
}

/** The text in blocks; an ellipsis where it goes on. Items of one list stand in one list. */
function blocksOf({ blocks, cut }) {
  const made = [];
  for (const { kind, pieces, rows, head, open } of blocks) {
    if (kind === "front") {
      const matter = make("details", "front", make("summary", "", "Front matter"), piecesOf("p", "lines", pieces));
      matter.open = open;
      made.push(matter);
      continue;
    }
    if (kind === "table") {
      made.push(tableOf(rows, head));
      continue;
    }
    const tag = { p: "p", lines: "p", quote: "blockquote", code: "pre" }[kind] ?? "div";
    const block = piecesOf(tag, /^h\d$/.test(kind) ? `heading ${kind}` : kind, pieces);
    if (/^h\d$/.test(kind)) {
      block.setAttribute("role", "heading");
      block.setAttribute("aria-level", String(Math.max(3, Number(kind[1]) + 1)));
    }
    made.push(block);
  }
  const more = () => make("p", "note", "…");
  return [...(cut[0] ? [more()] : []), ...made, ...(cut[1] ? [more()] : [])];
}

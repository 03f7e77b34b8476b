// Elements of the page. Every text is given as a text and becomes a text node, never markup.

/** An element with a class and children: elements or texts. What is null or "" is left out. */
function make(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children.filter((each) => each !== null && each !== undefined && each !== ""));
  return made;
}

/** An element whose text is of a document, or a name of one: it has the direction of its own letters. */
function own(made) {
  made.dir = "auto";
  return made;
}

/** Where a passage stands: parts that may be of several directions, in the order of the page. */
function placeOf(parts) {
  const place = make("span", "place", ...parts.flatMap((part, at) => [at ? " · " : "", make("bdi", "", part)]));
  place.title = parts.join(" · ");
  return place;
}

/** A button; `use` is called at a click. */
function button(label, className, use, title = "") {
  const made = make("button", className, label);
  made.type = "button";
  if (title) made.title = title;
  if (use) made.addEventListener("click", use);
  return made;
}

/** A text in pieces: of each the style, which may be two words, the text and, for a match, the key of its passage. */
function piecesOf(tag, className, pieces) {
  const parts = pieces.map(([style, text, key]) => {
    const part = make(/^(word|open)\b/.test(style) ? "mark" : "span", style, text);
    if (key) part.dataset.match = key;
    return part;
  });
  return own(make(tag, className, ...parts));
}

/** Copies a text; a page that is not served from this machine may only do so by a selection. */
async function copied(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const box = make("textarea", "");
  box.value = text;
  document.body.append(box);
  box.select();
  document.execCommand("copy");
  box.remove();
}

/** Saves a text as a file. */
function saved({ name, type, text }) {
  const link = make("a", "");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// The legend of the map: a button for each group, or a bar of shades and what has no number.

/** An element that holds this text, whatever is written in it, and in whatever direction. */
function element(kind, style, text = "") {
  return Object.assign(document.createElement(kind), { className: style, textContent: text, dir: "auto" });
}

/** A group by its colour, shape, name and size. One with a code is a button that chooses it. */
function entry(name, size, colour, square, code) {
  const made = element(code === undefined ? "span" : "button", "entry"), dot = element("i", square ? "square" : "");
  dot.style.background = colour;
  made.append(dot, element("span", "name", name), element("span", "size", size.toLocaleString("en")));
  if (code !== undefined) made.dataset.code = code;
  return made;
}

/** What stands under the map: of the header that the server sent, and the colours that are drawn, the grey one last. */
function legendOf({ groups, sizes, palette, ramp, grey, title, ends, missing: [none, count] }, colours) {
  const rest = count ? [entry(none, count, grey, false, ramp.length ? undefined : -1)] : [];
  if (!ramp.length) {
    const colour = (at) => palette[at % palette.length];
    return [...groups.map((name, at) => entry(name, sizes[at], colour(at), at >= palette.length, at)), ...rest];
  }
  const bar = element("span", "bar");
  bar.style.background = `linear-gradient(to right, ${colours.slice(0, -1).map((one) => `rgb(${one})`).join(", ")})`;
  return [element("span", "name", title), element("span", "", ends[0]), bar, element("span", "", ends[1]), ...rest];
}

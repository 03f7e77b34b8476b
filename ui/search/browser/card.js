// A hit: one line with title, place, type and strength, then its text, then what can be done with it.

/** `list` has what a click does: send, choose, copy. */
function cardOf(hit, list, chosen) {
  const title = button(hit.title, "title", () => list.open(hit.key), "Open the document at this passage (Enter)");
  const heading = make("h2", "", make("span", "rank", `${hit.lead} `), title);
  const head = make("div", "head", chooser(hit, list, chosen), heading, placeOf(hit));
  if (hit.kind) head.append(make("span", "kind", hit.kind));
  if (hit.strength) head.append(make("span", `strength ${hit.level}`, hit.strength));
  if (hit.again) head.append(make("span", "strength", hit.again));
  const card = make("li", "hit", head, piecesOf("p", "passage", hit.pieces));
  card.dataset.key = hit.key;
  card.append(actionsOf(hit, list, card));
  return card;
}

function placeOf(hit) {
  const place = make("span", "place", hit.place);
  place.title = hit.place;
  return place;
}

function chooser(hit, list, chosen) {
  if (hit.lead === "+") return null;
  const box = make("input", "choose");
  box.type = "checkbox";
  box.checked = chosen;
  box.setAttribute("aria-label", `Select hit ${hit.lead} ${hit.title}`);
  box.title = "Select for export (x)";
  box.addEventListener("change", () => list.choose(hit.key, box.checked));
  return box;
}

function actionsOf(hit, list, card) {
  const send = (event, kind) => () => list.send(event, { kind, key: hit.key });
  const row = make("div", "actions",
    button("Open", "open", () => list.open(hit.key)),
    menu("Copy", "", copiesOf(hit, list)),
    button("More like this", "", send("steer", "more"), "Moves the search towards this passage."),
    button("Less like this", "", send("steer", "less"), "Moves the search away from this passage."));
  if (hit.more) row.append(button(`${hit.more} more here`, "", send("unfold", "more"), "Other passages of this document"));
  if (hit.copies) row.append(button(`${hit.copies} near ${hit.copies > 1 ? "copies" : "copy"}`, "", send("unfold", "copies")));
  const why = button("Why", "", () => toggleWhy(hit, card, why), "How this hit was scored");
  why.setAttribute("aria-expanded", "false");
  row.append(why);
  if (list.data.judged) row.append(thumbsOf(hit, list));
  return row;
}

/** Whether the document answers the question: what is marked here becomes the test set of the page Evaluate. */
function thumbsOf(hit, list) {
  const thumb = (grade, icon, label) => {
    const made = button("", "thumb", () => list.judge(hit, grade), label);
    const sign = make("span", "icon", icon);
    sign.setAttribute("aria-hidden", "true");
    made.append(sign);
    made.setAttribute("aria-label", label);
    made.dataset.grade = grade;
    return made;
  };
  const both = make("span", "thumbs", thumb(1, "thumb_up", "This document helps"), thumb(0, "thumb_down", "This document does not help"));
  both.setAttribute("role", "group");
  both.setAttribute("aria-label", "Does it answer the question?");
  showGrade(both, list.gradeOf(hit));
  return both;
}

function showGrade(thumbs, grade) {
  for (const each of thumbs.children) {
    const on = grade !== undefined && (each.dataset.grade === "1") === grade > 0;
    each.setAttribute("aria-pressed", String(on));
  }
}

/** What can be copied of a hit. The link is that of this page, with the passage opened. */
function copiesOf(hit, list) {
  const link = () => {
    const url = new URL(location.href);
    url.searchParams.set("open", hit.key);
    return url.href;
  };
  const copy = (what, text) => [what, () => list.copy(what, text())];
  return [
    copy("Text", () => hit.text),
    copy("Quotation with source", () => hit.quotation),
    copy("Link to this passage", link),
    copy("JSON", () => JSON.stringify(hit.record, null, 1)),
  ];
}

function toggleWhy(hit, card, opener) {
  const shown = card.querySelector(".why");
  opener.setAttribute("aria-expanded", shown ? "false" : "true");
  if (shown) return shown.remove();
  const { passage, scores, sum, shares } = hit.why;
  const told = [passage, ...scores, sum, ...shares.map(([name, share]) => `${name} ${Math.round(100 * share)} %`)];
  const bar = make("span", "bar", ...shares.map(([name, share]) => {
    const part = make("span", name.replace(" ", "-"));
    part.style.width = `${100 * share}%`;
    return part;
  }));
  card.append(make("div", "why", shares.length ? bar : null, told.join(" · ")));
}

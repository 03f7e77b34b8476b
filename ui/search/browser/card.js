// A hit: its title, a line that says where it stands, two lines of its text; what can be done with it shows on hover and focus.

/** `list` has what a click does: send, choose, copy. */
function cardOf(hit, list, chosen) {
  const title = own(button(hit.title, "title", () => list.open(hit.key), "Open the document at this passage (Enter)"));
  const heading = make("h2", "", make("span", "rank", `${hit.lead} `), title);
  const card = make("li", "hit", make("div", "head", chooser(hit, list, chosen), heading, strengthOf(hit)), null, piecesOf("p", "passage", hit.pieces));
  card.dataset.key = hit.key;
  card.querySelector(".head").after(make("div", "line", placeOf([...hit.place, hit.date, hit.kind].filter(Boolean)), ...restOf(hit, list), actionsOf(hit, list, card)));
  return card;
}

const STEPS = { strong: 3, likely: 2, weak: 1, none: 0 };
const MEANING = {
  strong: "Strong: fewer than one in a hundred questions without an answer here find something as near",
  likely: "Likely: fewer than one in ten questions without an answer here find something as near",
  weak: "Weak: questions without an answer here find something as near more often",
  none: "No match: nothing in it says that it answers the question",
};

/** The strength as a word and a bar of three steps; the number is behind Why. */
function strengthOf(hit) {
  if (!hit.strength) return hit.again ? make("span", "strength", hit.again) : null;
  const steps = [1, 2, 3].map((step) => make("i", step <= STEPS[hit.level] ? "on" : ""));
  const bar = make("span", "steps", ...steps);
  bar.setAttribute("aria-hidden", "true");
  const made = make("span", `strength ${hit.level}`, bar, [hit.strength, hit.again].filter(Boolean).join(" · "));
  made.title = MEANING[hit.level] ?? "";
  return made;
}

/** What else of the document was found. */
function restOf(hit, list) {
  const unfold = (label, kind, title) => button(label, "more", () => list.send("unfold", { kind, key: hit.key }), title);
  return [
    hit.more ? unfold(`${hit.more} more here`, "more", "Other passages of this document") : null,
    hit.copies ? unfold(`${hit.copies} near ${hit.copies > 1 ? "copies" : "copy"}`, "copies", "Documents that repeat it") : null,
  ];
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
  const steer = (kind) => () => list.send("steer", { kind, key: hit.key });
  const more = menu("more_horiz", "icon", [
    ["Why this hit", () => toggleWhy(hit, card)],
    ["More like this", steer("more")],
    ["Less like this", steer("less")],
  ], "More");
  return make("div", "actions", list.data.judged ? thumbsOf(hit, list) : null, menu("content_copy", "icon", copiesOf(hit, list), "Copy"), more);
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

function toggleWhy(hit, card) {
  const shown = card.querySelector(".why");
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

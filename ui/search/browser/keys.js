// The keys of the search page, wherever the focus is but in a field; the box itself has "/" (scripts.py).

const KEYS = [
  ["/", "go to the search box"],
  ["Enter", "in the box: search by meaning at once"],
  ["↓ ↑", "next and previous hit"],
  ["Enter", "open the hit"],
  ["Escape", "close the document, or go back to the box"],
  ["n p", "next and previous match in the document"],
  ["x", "select the hit for export"],
  ["+ -", "mark the document of the hit: it helps, it does not"],
  ["?", "this list"],
];
const BOX = "input[aria-label='What are you looking for?']";

/** Does what a key stands for; returns a function that ends it. */
function listenToKeys(list) {
  const down = (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !list.root.isConnected) return;
    if (list.root.querySelector("dialog[open]")) return; // it has keys of its own
    const { target, key } = event, box = document.querySelector(BOX);
    const writing = /^(TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable || (target.tagName === "INPUT" && target.type !== "checkbox");
    const ours = list.root.contains(target) || target === document.body || (target === box && key === "ArrowDown");
    if (target === box && key === "Enter") setTimeout(() => list.send("asked", { text: box.value })); // behind what Streamlit sends
    if (!ours || (writing && target !== box)) return;
    const act = {
      ArrowDown: () => list.move(1), ArrowUp: () => list.move(-1), Escape: () => list.back(box), "?": () => list.help(),
      n: () => list.reader.step(1), p: () => list.reader.step(-1), x: () => list.chooseFocused(),
      "+": () => list.judgeFocused(1), "-": () => list.judgeFocused(0),
    }[key];
    const scrolls = target.closest?.(".reader") && key.startsWith("Arrow");
    if (!act || scrolls) return;
    event.preventDefault();
    act();
  };
  const outside = ({ target }) => target.closest?.(".holder") || closeMenu();
  document.addEventListener("keydown", down);
  document.addEventListener("pointerdown", outside);
  return () => {
    document.removeEventListener("keydown", down);
    document.removeEventListener("pointerdown", outside);
  };
}

/** The list of keys, as a dialog. */
function helpOf() {
  const rows = KEYS.flatMap(([key, what]) => [make("dt", "", make("kbd", "", key)), make("dd", "", what)]);
  const dialog = make("dialog", "help", make("h2", "", "Keys"), make("dl", "", ...rows));
  dialog.append(make("div", "row", button("Close", "primary", () => dialog.close())));
  return dialog;
}

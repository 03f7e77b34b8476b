// A menu under a button: one is open at a time; arrows move in it, Escape closes it.

const MENU = { open: null };

/** `items` are [label, what to do]; a label that is an icon needs a `name`. */
function menu(label, className, items, name = "") {
  const opener = button(label, className, () => (MENU.open?.box === box ? closeMenu() : openMenu()), name);
  if (name) opener.setAttribute("aria-label", name);
  const box = make("div", "menu");
  opener.setAttribute("aria-haspopup", "menu");
  opener.setAttribute("aria-expanded", "false");
  box.setAttribute("role", "menu");
  box.hidden = true;
  const openMenu = () => {
    closeMenu();
    const entries = items.map(([text, use]) => button(text, "", () => { closeMenu(); use(); }));
    for (const each of entries) each.setAttribute("role", "menuitem");
    box.replaceChildren(...entries);
    box.hidden = false;
    opener.setAttribute("aria-expanded", "true");
    MENU.open = { opener, box };
    entries[0]?.focus();
  };
  box.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], all = [...box.children];
    if (event.key === "Tab") return closeMenu();
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus();
  });
  return make("span", "holder", opener, box);
}

/** Closes the open menu, if there is one; the focus goes back to its button. */
function closeMenu() {
  const open = MENU.open;
  MENU.open = null;
  if (!open) return false;
  const inside = open.box.contains(document.activeElement);
  open.box.hidden = true;
  open.opener.setAttribute("aria-expanded", "false");
  if (inside) open.opener.focus();
  return true;
}

// Buttons that save the chart above them: the picture as it is drawn in the page, as PNG or SVG, and its figures as CSV.

const SHARPNESS = 2; // pixels of the PNG for one of the page
const DECODER = new TextDecoder();

function saved(name, content, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** A copy of the chart, on the background of the page and with its size; null while it is not drawn. */
function pictureOf(target) {
  const drawn = document.querySelector(`.st-key-${CSS.escape(target)} svg.marks`);
  if (!drawn) return null;
  const copy = drawn.cloneNode(true), back = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  const width = Number(drawn.getAttribute("width")), height = Number(drawn.getAttribute("height"));
  const page = drawn.closest(".stApp") ?? document.body;
  for (const [name, value] of Object.entries({ width, height, fill: getComputedStyle(page).backgroundColor })) back.setAttribute(name, value);
  copy.removeAttribute("style");
  copy.prepend(back);
  return { svg: new XMLSerializer().serializeToString(copy), width, height };
}

async function pngOf({ svg, width, height }) {
  const image = new Image(), canvas = document.createElement("canvas");
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  Object.assign(canvas, { width: Math.ceil(width * SHARPNESS), height: Math.ceil(height * SHARPNESS) });
  const pen = canvas.getContext("2d");
  pen.scale(SHARPNESS, SHARPNESS);
  pen.drawImage(image, 0, 0, width, height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

export default function ({ data, parentElement }) {
  const { target, name, csv } = JSON.parse(DECODER.decode(data));
  const row = document.createElement("div");
  row.className = "export";
  row.setAttribute("role", "group");
  row.setAttribute("aria-label", `Save ${name}`);
  const add = (kind, hint, use) => {
    const made = document.createElement("button");
    Object.assign(made, { type: "button", textContent: kind, title: hint });
    made.setAttribute("aria-label", `${kind}: ${hint}`);
    made.addEventListener("click", use);
    row.append(made);
  };
  const picture = (use) => () => {
    const found = pictureOf(target);
    if (found) use(found);
  };
  row.append("Save as");
  add("PNG", `the picture, ${SHARPNESS} × as fine as on the screen`, picture(async (found) => saved(`${name}.png`, await pngOf(found), "image/png")));
  add("SVG", "the picture as lines and letters", picture(({ svg }) => saved(`${name}.svg`, svg, "image/svg+xml")));
  add("CSV", "the figures for a spreadsheet", () => saved(`${name}.csv`, csv, "text/csv"));
  parentElement.querySelector(".export")?.remove(); // the style beside it stays
  parentElement.append(row);
}

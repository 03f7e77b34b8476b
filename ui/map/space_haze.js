// The crowd at a distance: where many points lie on each other, their density is drawn as a haze in their colours.

const CELL = 5, CROWDED = 0.8, CROWD = 3.5, DENSE_HAZE = 0.9; // pixels; others on a point where the haze begins, and is full; opacity

class Haze {
  constructor() {
    this.canvas = document.createElement("canvas");
    this.context = this.canvas.getContext("2d");
    this.sums = [];
  }

  /** Counts the points in cells, with their colours, and draws the cells as pixels. Returns how strong the haze is, 0 … 1. */
  draw(places, view, looks, lookOf, radius, width, height, cell) {
    const wide = Math.ceil(width / cell), high = Math.ceil(height / cell);
    if (this.canvas.width !== wide || this.canvas.height !== high || !this.sums.length) {
      Object.assign(this.canvas, { width: wide, height: high });
      this.sums = Array.from({ length: 4 }, () => new Float32Array(wide * high)); // red, green, blue, weight
    }
    const crowd = this.count(places, view, looks, lookOf, cell) * ((Math.PI * radius * radius) / (cell * cell));
    const share = Math.min(Math.max((crowd - CROWDED) / (CROWD - CROWDED), 0), 1);
    if (share) this.paint(share);
    return share;
  }

  /** Fills the sums. Returns how many others are in the cell of a point, on average over the points that are seen. */
  count(places, { sx, sy, ox, oy }, looks, lookOf, cell) {
    const { width: wide, height: high } = this.canvas, [red, green, blue, weight] = this.sums;
    for (const each of this.sums) each.fill(0);
    let own = 0, all = 0, squares = 0;
    for (let i = 0; i < lookOf.length; i++) {
      const look = looks[lookOf[i]];
      if (!look) continue;
      const x = Math.floor((places[2 * i] * sx + ox) / cell), y = Math.floor((places[2 * i + 1] * sy + oy) / cell);
      if (!(x >= 0 && y >= 0 && x < wide && y < high)) continue;
      const at = y * wide + x, [r, g, b] = look.colour;
      red[at] += r * look.opacity;
      green[at] += g * look.opacity;
      blue[at] += b * look.opacity;
      weight[at] += look.opacity;
      own += look.opacity * look.opacity;
    }
    for (const each of weight) {
      all += each;
      squares += each * each;
    }
    return all ? (squares - own) / all : 0;
  }

  paint(share) {
    const { width, height } = this.canvas, [red, green, blue, weight] = this.sums;
    for (const each of this.sums) for (let round = 0; round < 2; round++) blurred(each, width, height);
    let most = 0;
    for (const each of weight) most = Math.max(most, each);
    const image = this.context.createImageData(width, height), top = Math.log1p(4 * most) || 1;
    for (let at = 0; at < weight.length; at++) {
      if (!weight[at]) continue;
      image.data[4 * at] = red[at] / weight[at];
      image.data[4 * at + 1] = green[at] / weight[at];
      image.data[4 * at + 2] = blue[at] / weight[at];
      image.data[4 * at + 3] = 255 * share * DENSE_HAZE * (Math.log1p(4 * weight[at]) / top);
    }
    this.context.putImageData(image, 0, 0);
  }
}

/** Each value becomes the mean of itself and its neighbours, along the rows and then along the columns; in place. */
function blurred(values, width, height) {
  for (const [lines, length, across, along] of [[height, width, width, 1], [width, height, 1, width]])
    for (let line = 0; line < lines; line++) {
      let before = 0, at = line * across;
      for (let step = 0; step < length; step++, at += along) {
        const here = values[at], after = step + 1 < length ? values[at + along] : 0;
        values[at] = (before + 2 * here + after) / 4;
        before = here;
      }
    }
}

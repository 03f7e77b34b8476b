// Draws points into the pixels of a canvas, without the graphics card: 100,000 of them take a few milliseconds,
// in every browser and on every machine alike.

const MARGIN = 16; // pixels around what is seen, so that a point at the edge needs no clipping

/** The bytes from the server: the length of a JSON header, the header, x and y, the level of each point, its day, the texts. */
function decode(bytes) {
  const copy = bytes.slice(); // aligned
  const size = new DataView(copy.buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(copy.subarray(4, 4 + size)));
  const places = new Float32Array(copy.buffer, 4 + size, 2 * head.count);
  const levels = new Float32Array(copy.buffer, 4 + size + 8 * head.count, head.count); // a group or a number; or NaN
  const end = 4 + size + 12 * head.count, dated = head.times ? head.count : 0;
  const days = new Float32Array(copy.buffer, end, dated); // NaN for none
  return { head, places, levels, days, zipped: copy.subarray(end + 4 * dated) };
}

async function inflated(zipped) {
  const stream = new Blob([zipped]).stream().pipeThrough(new DecompressionStream("deflate"));
  return (await new Response(stream).text()).split("\n");
}

/** "#rrggbb" or "rgb(…)" as [r, g, b]. */
function rgb(colour) {
  const hex = /^#(..)(..)(..)/.exec(colour);
  return hex ? hex.slice(1).map((one) => parseInt(one, 16)) : (colour.match(/[\d.]+/g) ?? [255, 255, 255]).slice(0, 3).map(Number);
}

/** The colour at `share` (0 … 1) of a ramp of colours. */
function between(ramp, share) {
  const at = Math.min(Math.max(share, 0), 1) * (ramp.length - 1);
  const low = rgb(ramp[Math.floor(at)]), high = rgb(ramp[Math.ceil(at)]);
  return low.map((one, part) => Math.round(one + (high[part] - one) * (at % 1)));
}

const packed = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

/** How much of each pixel around a point is covered: a disc or a square of a radius, its rim smooth. */
function stamp(shape, radius, width, opacity) {
  const offsets = [], weights = [], reach = Math.ceil(radius);
  for (let dy = -reach; dy <= reach; dy++)
    for (let dx = -reach; dx <= reach; dx++) {
      const away = shape === "square" ? Math.max(Math.abs(dx), Math.abs(dy)) + 0.1 * radius : Math.hypot(dx, dy);
      const cover = Math.min(Math.max(radius + 0.5 - away, 0), 1) * opacity;
      if (cover > 0.02) {
        offsets.push(dy * width + dx);
        weights.push(Math.round(cover * 256));
      }
    }
  return { offsets: Int32Array.from(offsets), weights: Int32Array.from(weights) };
}

class Raster {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false, willReadFrequently: true });
  }

  resize(width, height) {
    this.canvas.width = width;
    this.canvas.height = height;
    this.width = width + 2 * MARGIN;
    this.image = this.context.createImageData(this.width, height + 2 * MARGIN);
    this.pixels = new Uint32Array(this.image.data.buffer);
  }

  /**
   * Point i has the look `looks[lookOf[i]]`: {colour, shape, opacity, layer}; a higher layer lies above, and where there
   * is no such look it is not drawn. `haze`, a smaller canvas, lies below all of them.
   */
  draw(places, view, looks, lookOf, radius, background, haze) {
    this.pixels.fill(packed(background));
    if (haze) this.below(haze, background);
    for (const layer of [...new Set(looks.map((look) => look.layer))].sort())
      this.stamped(places, view, looks.map((look) => (look.layer === layer ? look : null)), lookOf, radius);
    this.context.putImageData(this.image, -MARGIN, -MARGIN);
  }

  /** Draws a canvas, enlarged, as what the points are drawn on. */
  below({ canvas, cell }, background) {
    const { context, pixels, width } = this, wide = this.canvas.width, high = this.canvas.height;
    context.fillStyle = `rgb(${background})`;
    context.fillRect(0, 0, wide, high);
    context.drawImage(canvas, 0, 0, canvas.width * cell, canvas.height * cell);
    const drawn = new Uint32Array(context.getImageData(0, 0, wide, high).data.buffer);
    for (let y = 0; y < high; y++) pixels.set(drawn.subarray(y * wide, (y + 1) * wide), (y + MARGIN) * width + MARGIN);
  }

  stamped(places, view, looks, lookOf, radius) {
    const { pixels, width } = this, wide = this.canvas.width, high = this.canvas.height, { sx, sy, ox, oy } = view;
    const stamps = looks.map((look) => look && stamp(look.shape, radius, width, look.opacity));
    const colours = looks.map((look) => (look ? packed(look.colour) : 0));
    for (let i = 0; i < lookOf.length; i++) {
      const one = stamps[lookOf[i]];
      if (!one) continue;
      const x = Math.floor(places[2 * i] * sx + ox), y = Math.floor(places[2 * i + 1] * sy + oy);
      if (!(x >= 0 && y >= 0 && x < wide && y < high)) continue;
      const base = (y + MARGIN) * width + x + MARGIN, colour = colours[lookOf[i]];
      const rb = colour & 0xff00ff, g = colour & 0x00ff00, { offsets, weights } = one;
      for (let j = 0; j < offsets.length; j++) {
        const at = base + offsets[j], old = pixels[at], weight = weights[j], oldRb = old & 0xff00ff, oldG = old & 0x00ff00;
        pixels[at] =
          0xff000000 |
          ((oldRb + (Math.imul(rb - oldRb, weight) >> 8)) & 0xff00ff) |
          ((oldG + (Math.imul(g - oldG, weight) >> 8)) & 0x00ff00);
      }
    }
  }
}

/** Finds the point that is nearest to a place, by the cells of a grid. */
class Grid {
  constructor(places) {
    this.places = places;
    const count = places.length / 2, side = (this.side = Math.min(Math.max(Math.ceil(Math.sqrt(count / 4)), 1), 256));
    this.low = [Infinity, Infinity];
    this.high = [-Infinity, -Infinity];
    for (let i = 0; i < places.length; i++) {
      this.low[i & 1] = Math.min(this.low[i & 1], places[i]);
      this.high[i & 1] = Math.max(this.high[i & 1], places[i]);
    }
    const cells = new Int32Array(count), starts = (this.starts = new Int32Array(side * side + 1));
    for (let i = 0; i < count; i++) {
      cells[i] = this.cell(places[2 * i], 0) + side * this.cell(places[2 * i + 1], 1);
      starts[cells[i] + 1]++;
    }
    for (let at = 0; at < side * side; at++) starts[at + 1] += starts[at];
    const next = starts.slice(), members = (this.members = new Int32Array(count));
    for (let i = 0; i < count; i++) members[next[cells[i]]++] = i;
  }

  cell(value, axis) {
    const share = (value - this.low[axis]) / (this.high[axis] - this.low[axis] || 1);
    return Math.min(Math.max(Math.floor(share * this.side), 0), this.side - 1);
  }

  /** The points in the cells that a box of pixels touches: each with its place in pixels. */
  *near(box, { sx, sy, ox, oy }) {
    const { places, side } = this, [left, top, right, bottom] = box.map((one, at) => (at % 2 ? (one - oy) / sy : (one - ox) / sx));
    const between = (one, other, axis) => [this.cell(Math.min(one, other), axis), this.cell(Math.max(one, other), axis)];
    const [first, last] = between(top, bottom, 1), [from, to] = between(left, right, 0);
    for (let row = first; row <= last; row++)
      for (let column = from; column <= to; column++)
        for (let at = this.starts[row * side + column]; at < this.starts[row * side + column + 1]; at++) {
          const i = this.members[at];
          yield [i, places[2 * i] * sx + ox, places[2 * i + 1] * sy + oy];
        }
  }

  /** The point within `reach` pixels of (x, y) that is nearest, or -1; only of those that are `seen`. */
  nearest(x, y, view, reach, seen) {
    let best = -1, least = reach * reach;
    for (const [i, across, down] of this.near([x - reach, y - reach, x + reach, y + reach], view)) {
      const away = (across - x) ** 2 + (down - y) ** 2;
      if (away <= least && seen(i)) [best, least] = [i, away];
    }
    return best;
  }

  /** How many of the points that are `seen` lie in a box of pixels. */
  count(box, view, seen) {
    let count = 0;
    for (const [i, x, y] of this.near(box, view)) count += x >= box[0] && x <= box[2] && y >= box[1] && y <= box[3] && seen(i);
    return count;
  }
}

// Points of the map as pixels. A frame writes small pictures of the marks into one image, without
// a call to the canvas for each point, so that 100,000 points move with the mouse.

import { N_COLORS, SHAPES, colorOf, resolveColor, shapeOf } from "./marks.js";
import { NO_CLASS, isLabeled, store } from "./store.js";

const MARGIN = 24; // pixels around the image, so that marks at its border need no clipping
const LEVELS = 16; // of confidence
const LEVEL_OF = Uint8Array.from({ length: 256 }, (_, byte) => Math.sqrt(byte / 255) * (LEVELS - 1));

/** Return the offsets of a mark's pixels in the image, and their opacity from 0 to 256. */
function rasterize(shape, radius, stride) {
  const reach = Math.ceil(radius) + 1;
  const side = 2 * reach + 1;
  const context = new OffscreenCanvas(side, side).getContext("2d", { willReadFrequently: true });
  context.translate(reach + 0.5, reach + 0.5);
  context.scale(radius / 6, radius / 6);
  context.translate(-6, -6);
  context.fill(new Path2D(SHAPES[shape]));
  const { data } = context.getImageData(0, 0, side, side);
  const offsets = [];
  const alphas = [];
  for (let k = 0; k < side * side; k += 1) {
    const alpha = data[4 * k + 3];
    if (alpha < 8) continue;
    offsets.push((Math.floor(k / side) - reach) * stride + (k % side) - reach);
    alphas.push(alpha > 247 ? 256 : alpha);
  }
  return { offsets: Int32Array.from(offsets), alphas: Int32Array.from(alphas) };
}

function stamp(pixels, center, { offsets, alphas }, color) {
  for (let k = 0; k < offsets.length; k += 1) {
    const at = center + offsets[k];
    const alpha = alphas[k];
    if (alpha === 256) {
      pixels[at] = color;
      continue;
    }
    const behind = pixels[at]; // two channels at a time: red and blue, then green
    const rest = 256 - alpha;
    const redBlue = ((color & 0xff00ff) * alpha + (behind & 0xff00ff) * rest) >>> 8;
    const green = ((color & 0xff00) * alpha + (behind & 0xff00) * rest) >>> 8;
    pixels[at] = (0xff000000 | (redBlue & 0xff00ff) | (green & 0xff00)) >>> 0;
  }
}

const pack = ([red, green, blue]) => (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0;

export class PointPainter {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.sprites = null;
    this.readColors();
  }

  /** Take the colors of the style sheet, which differ between light and dark. */
  readColors() {
    const paper = resolveColor("--paper");
    this.paper = pack(paper);
    this.ink = pack(resolveColor("--ink"));
    const ramp = (color) =>
      Array.from({ length: LEVELS }, (_, level) => {
        const share = 0.22 + (0.78 * level) / (LEVELS - 1);
        return pack(color.map((c, k) => Math.round(c * share + paper[k] * (1 - share))));
      });
    this.ramps = Array.from({ length: N_COLORS }, (_, k) => ramp(resolveColor(`--k${k}`)));
    this.unknown = ramp(resolveColor("--k-none"))[8];
    this.faded = ramp(resolveColor("--k-none"))[0];
  }

  /** Compute color and shape of every row, once after each change of the predictions. */
  prepare() {
    const { predicted, confidence, highlighted } = store;
    const n = predicted.length;
    this.colors = new Uint32Array(n);
    this.shapes = new Uint8Array(n);
    const labeled = [];
    for (let row = 0; row < n; row += 1) {
      const id = predicted[row];
      this.shapes[row] = shapeOf(id);
      if (highlighted !== NO_CLASS && id !== highlighted) this.colors[row] = this.faded;
      else this.colors[row] = id === NO_CLASS ? this.unknown : this.ramps[colorOf(id)][LEVEL_OF[confidence[row]]];
      if (isLabeled(row)) labeled.push(row);
    }
    this.labeled = Int32Array.from(labeled);
  }

  /** Paint all points; x and y of a row at `scale * x + left`, `scale * y + top` in pixels. */
  paint(xs, ys, { scale, left, top }, radius) {
    const { width, height } = this.canvas;
    const stride = width + 2 * MARGIN;
    const rows = height + 2 * MARGIN;
    if (this.image?.width !== stride || this.image?.height !== rows) {
      this.image = new ImageData(stride, rows);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.sprites = null;
    }
    if (this.sprites === null || this.radius !== radius) {
      this.radius = radius;
      this.sprites = SHAPES.map((_, shape) => rasterize(shape, radius, stride));
      this.large = SHAPES.map((_, shape) => rasterize(shape, radius + 1, stride));
      this.rings = SHAPES.map((_, shape) => rasterize(shape, radius + 2.6, stride));
    }
    const { pixels, sprites, colors, shapes } = this;
    const place = (row) => {
      const x = Math.round(scale * xs[row] + left) + MARGIN;
      const y = Math.round(scale * ys[row] + top) + MARGIN;
      const isInside = x >= 12 && y >= 12 && x < stride - 12 && y < rows - 12;
      return isInside ? y * stride + x : -1;
    };
    pixels.fill(this.paper);
    for (let row = 0; row < xs.length; row += 1) {
      if (isLabeled(row)) continue;
      const center = place(row);
      if (center >= 0) stamp(pixels, center, sprites[shapes[row]], colors[row]);
    }
    for (const row of this.labeled) {
      const center = place(row);
      if (center < 0) continue;
      stamp(pixels, center, this.rings[shapes[row]], this.ink);
      stamp(pixels, center, this.large[shapes[row]], colors[row]);
    }
    this.context.putImageData(this.image, -MARGIN, -MARGIN);
  }
}

/** Return the nearest row within a distance, or -1; a look at 100,000 rows takes a fraction of a ms. */
export function nearestRow(xs, ys, x, y, distance) {
  let best = -1;
  let smallest = distance * distance;
  for (let row = 0; row < xs.length; row += 1) {
    const far = (xs[row] - x) ** 2 + (ys[row] - y) ** 2;
    if (far > smallest) continue;
    best = row;
    smallest = far;
  }
  return best;
}

/** Return the rows inside a polygon of [x, y], by the even-odd rule. */
export function rowsInside(xs, ys, polygon) {
  const [px, py] = [polygon.map(([x]) => x), polygon.map(([, y]) => y)];
  const [left, right, top, bottom] = [Math.min(...px), Math.max(...px), Math.min(...py), Math.max(...py)];
  const rows = [];
  for (let row = 0; row < xs.length; row += 1) {
    const [x, y] = [xs[row], ys[row]];
    if (x < left || x > right || y < top || y > bottom) continue;
    let isInside = false;
    for (let i = 0, j = px.length - 1; i < px.length; j = i, i += 1) {
      const crosses = py[i] > y !== py[j] > y;
      if (crosses && x < ((px[j] - px[i]) * (y - py[i])) / (py[j] - py[i]) + px[i]) isInside = !isInside;
    }
    if (isInside) rows.push(row);
  }
  return rows;
}

// Marks of classes, and pictures of rows. Marks have twelve colors, those of the report, and four
// shapes, so that classes differ also for people who see few colors.

import { getObjectUrl } from "./api.js";
import { draw, make } from "./dom.js";
import { NO_CLASS, store } from "./store.js";

export const N_COLORS = 12;
export const SHAPES = [
  "M6 1a5 5 0 1 0 0 10a5 5 0 1 0 0-10Z",
  "M1.5 1.5h9v9h-9Z",
  "M6 .6L11.6 10.4H.4Z",
  "M6 0L12 6L6 12L0 6Z",
];

/** Return the number of the color of a class. */
export const colorOf = (id) => id % N_COLORS;

/** Return the number of the shape of a class; 48 classes differ. */
export const shapeOf = (id) => (id === NO_CLASS ? 0 : (id + Math.floor(id / N_COLORS)) % SHAPES.length);

/** Return the CSS class with the color of a class of rows. */
export const colorClass = (id) => (id === NO_CLASS ? "k-none" : `k${colorOf(id)}`);

/** Return a small picture of the mark of a class. */
export function mark(id) {
  const attributes = { class: `mark ${colorClass(id)}`, viewBox: "0 0 12 12", "aria-hidden": "true" };
  return draw("svg", attributes, draw("path", { d: SHAPES[shapeOf(id)] }));
}

/** Return a color of the style sheet as [red, green, blue]. */
export function resolveColor(variable) {
  const probe = document.createElement("i");
  probe.style.color = `var(${variable})`;
  document.body.append(probe);
  const channels = getComputedStyle(probe).color.match(/[\d.]+/g).map(Number);
  probe.remove();
  return channels.slice(0, 3);
}

const pictures = new Map(); // made before, by place and row: a view that is drawn again asks for none

/** Return the picture of a row for a place of the page, which is its CSS class; null without one. */
export function picture(row, place, alt = "") {
  const { image } = store.table;
  if (!image) return null;
  const key = `${place} ${row}`;
  if (pictures.size > 500) pictures.clear();
  if (!pictures.has(key)) {
    const remove = () => {
      pictures.set(key, null); // a row without a file is asked for once
      element.remove();
    };
    const load = () => URL.revokeObjectURL(element.src);
    const element = make("img", { alt, class: `${place} ${image.kind}`, error: remove, load });
    pictures.set(key, element);
    getObjectUrl(`/api/rows/${row}/image`).then((url) => (element.src = url), remove);
  }
  return pictures.get(key);
}

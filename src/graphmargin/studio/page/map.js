// The map of all rows: pan, zoom, hover, a click on a row, and a lasso around many.

import { getBytes, getJson } from "./api.js";
import { openBulk } from "./bulk.js";
import { byId, debounce, estimated, make, replace, rowName } from "./dom.js";
import { mark, picture, resolveColor } from "./marks.js";
import { PointPainter, nearestRow, rowsInside } from "./points.js";
import { NO_CLASS, className, isLabeled, on, say, store, visit } from "./store.js";

const canvas = byId("points");
const overlay = byId("overlay");
const tip = byId("tip");
const context = overlay.getContext("2d");

let painter = null;
let xs = new Float32Array(0);
let ys = new Float32Array(0);
let zoom = 1;
let center = [0.5, 0.5];
let hovered = -1;
let lasso = null; // points of the polygon, while it is drawn
let isLassoMode = false;
let isLoading = false;
const pointers = new Map(); // pressed pointers, for pan and pinch
let pressedAt = null;

export function startMap() {
  painter = new PointPainter(canvas);
  new ResizeObserver(resize).observe(overlay.parentElement);
  on("state", load);
  on("predictions highlight", () => repaint(true));
  on("row", repaintOverlay);
  on("theme", () => {
    painter.readColors();
    repaint(true);
  });
  overlay.addEventListener("pointerdown", press);
  overlay.addEventListener("pointermove", move);
  overlay.addEventListener("pointerup", release);
  overlay.addEventListener("pointercancel", release);
  overlay.addEventListener("pointerleave", () => hover(-1));
  overlay.addEventListener("wheel", turn, { passive: false });
  overlay.addEventListener("keydown", pressKey);
  byId("lasso").addEventListener("click", toggleLasso);
  byId("view-rows").addEventListener("click", labelView);
  byId("zoom-in").addEventListener("click", () => zoomAt(1.5));
  byId("zoom-out").addEventListener("click", () => zoomAt(1 / 1.5));
  byId("zoom-fit").addEventListener("click", fit);
}

async function load() {
  const isReady = store.state.map === "ready";
  byId("map-empty").hidden = xs.length > 0;
  byId("map-empty").textContent = isReady ? "" : "The map is being computed. You can label meanwhile.";
  if (!isReady || xs.length > 0 || isLoading) return;
  isLoading = true;
  try {
    const values = new Float32Array((await getBytes("/api/map")).bytes);
    xs = values.filter((_, k) => k % 2 === 0);
    ys = values.filter((_, k) => k % 2 === 1);
    byId("map-empty").hidden = true;
    byId("map-panel").dataset.rows = xs.length;
    repaint(true);
  } catch (error) {
    byId("map-empty").textContent = error.message;
  } finally {
    isLoading = false;
  }
}

// --- Drawing: at most once a frame, and only after a change.

let frame = 0;
let isColored = false;

function repaint(hasNewColors = false) {
  if (hasNewColors) isColored = false;
  frame ||= requestAnimationFrame(paint);
}

function paint() {
  frame = 0;
  if (xs.length === 0 || canvas.width === 0) return;
  if (!isColored) painter.prepare();
  isColored = true;
  painter.paint(xs, ys, placement(), radius() * devicePixelRatio);
  paintOverlay();
}

function resize() {
  const { clientWidth, clientHeight } = overlay.parentElement;
  for (const one of [canvas, overlay]) {
    one.width = Math.round(clientWidth * devicePixelRatio);
    one.height = Math.round(clientHeight * devicePixelRatio);
  }
  repaint();
}

/** Return how positions become pixels of the canvas. */
function placement() {
  const scale = zoom * 0.9 * Math.min(canvas.width, canvas.height);
  return { scale, left: canvas.width / 2 - scale * center[0], top: canvas.height / 2 - scale * center[1] };
}

/** Return the radius of a mark: smaller with more rows, larger on a large map and when zoomed in. */
function radius() {
  const { clientWidth, clientHeight } = overlay;
  const room = Math.sqrt(Math.min(clientWidth, clientHeight) / 500);
  const base = Math.max(1.3, Math.min(5, 4.8 * room * (500 / Math.max(1, xs.length)) ** 0.25));
  return Math.round(2 * Math.min(8, base * zoom ** 0.35)) / 2;
}

let overlayFrame = 0;

function repaintOverlay() {
  overlayFrame ||= requestAnimationFrame(paintOverlay);
}

function paintOverlay() {
  overlayFrame = 0;
  const ratio = devicePixelRatio;
  context.clearRect(0, 0, overlay.width, overlay.height);
  if (xs.length === 0) return;
  const { scale, left, top } = placement();
  const ring = (row, size, color, width) => {
    context.beginPath();
    context.arc(scale * xs[row] + left, scale * ys[row] + top, size * ratio, 0, 2 * Math.PI);
    context.lineWidth = width * ratio;
    context.strokeStyle = `rgb(${color})`;
    context.stroke();
  };
  const accent = resolveColor("--accent");
  const paper = resolveColor("--paper");
  if (hovered >= 0) ring(hovered, radius() + 4, resolveColor("--ink"), 1.5);
  for (const { row } of store.state?.questions ?? []) ring(row, radius() + 5, resolveColor("--warn"), 2);
  if (store.row !== null) {
    ring(store.row, radius() + 7, paper, 6);
    ring(store.row, radius() + 7, accent, 3);
  }
  if (lasso !== null) {
    context.beginPath();
    for (const [x, y] of lasso) context.lineTo(scale * x + left, scale * y + top);
    context.closePath();
    context.fillStyle = `rgba(${accent}, .12)`;
    context.fill();
    context.lineWidth = 1.5 * ratio;
    context.strokeStyle = `rgb(${accent})`;
    context.stroke();
  }
}

// --- Pan, zoom and lasso.

/** Return the position on the map under an event of the mouse. */
function positionOf(event) {
  const { scale, left, top } = placement();
  return [
    (event.offsetX * devicePixelRatio - left) / scale,
    (event.offsetY * devicePixelRatio - top) / scale,
  ];
}

function rowAt(event) {
  return nearestRow(xs, ys, ...positionOf(event), (14 * devicePixelRatio) / placement().scale);
}

function zoomAt(factor, [x, y] = center) {
  const next = Math.min(200, Math.max(0.5, zoom * factor));
  center = [x + ((center[0] - x) * zoom) / next, y + ((center[1] - y) * zoom) / next];
  zoom = next;
  repaint();
}

function fit() {
  zoom = 1;
  center = [0.5, 0.5];
  repaint();
}

function pan(pixelsX, pixelsY) {
  const { scale } = placement();
  center = [
    center[0] - (pixelsX * devicePixelRatio) / scale,
    center[1] - (pixelsY * devicePixelRatio) / scale,
  ];
  repaint();
}

function turn(event) {
  event.preventDefault();
  zoomAt(Math.exp(-0.0016 * event.deltaY), positionOf(event));
}

function press(event) {
  if (event.button !== 0) return;
  overlay.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, event);
  pressedAt = [event.clientX, event.clientY];
  hover(-1);
  if (event.shiftKey || isLassoMode) lasso = [positionOf(event)];
}

function move(event) {
  const before = pointers.get(event.pointerId);
  if (!before) {
    hover(rowAt(event));
    return;
  }
  pointers.set(event.pointerId, event);
  if (lasso !== null) {
    lasso.push(positionOf(event));
    repaintOverlay();
  } else if (pointers.size === 1) {
    pan(event.clientX - before.clientX, event.clientY - before.clientY);
  } else {
    const [other] = [...pointers.values()].filter((one) => one.pointerId !== event.pointerId);
    const distance = (one) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
    zoomAt(distance(event) / Math.max(1, distance(before)), positionOf(other));
  }
}

function release(event) {
  if (!pointers.delete(event.pointerId)) return;
  const polygon = lasso;
  lasso = null;
  repaintOverlay();
  if (event.type === "pointercancel") return;
  const moved = Math.hypot(event.clientX - pressedAt[0], event.clientY - pressedAt[1]);
  if (polygon !== null && polygon.length > 2) {
    if (isLassoMode) toggleLasso();
    labelRows(rowsInside(xs, ys, polygon));
  } else if (moved < 4) {
    const row = rowAt(event);
    if (row >= 0) visit(row);
  }
}

function labelRows(rows) {
  if (rows.length === 0) say("No row is inside.");
  else openBulk({ rows });
}

export function toggleLasso() {
  isLassoMode = !isLassoMode;
  byId("lasso").setAttribute("aria-pressed", isLassoMode);
  overlay.classList.toggle("drawing", isLassoMode);
  if (isLassoMode) say("Lasso: draw around the rows to label.");
}

/** Label the rows in view: what a lasso does, by the keyboard. */
export function labelView() {
  const { scale, left, top } = placement();
  const [x0, y0] = [-left / scale, -top / scale];
  const [x1, y1] = [(canvas.width - left) / scale, (canvas.height - top) / scale];
  labelRows(rowsInside(xs, ys, [[x0, y0], [x1, y0], [x1, y1], [x0, y1]]));
}

const MOVES = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };

function pressKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key in MOVES) pan(...MOVES[event.key]);
  else if (event.key === "+" || event.key === "=") zoomAt(1.3);
  else if (event.key === "-") zoomAt(1 / 1.3);
  else if (event.key === "f") fit();
  else return;
  event.preventDefault();
  event.stopPropagation();
}

// --- Hover: the class at once, cells after a moment of rest.

const describe = debounce(async (row) => {
  const details = await getJson(`/api/rows/${row}`).catch(() => null);
  if (details === null || hovered !== row || store.table.image?.kind === "pixels") return;
  const cells = details.cells.filter(([, text]) => text !== "").slice(0, 5);
  tip.append(make("dl", cells.map(([name, text]) => [make("dt", name), make("dd", text)])));
  placeTip(row);
}, 90);

function hover(row) {
  if (row === hovered) return;
  hovered = row;
  repaintOverlay();
  tip.hidden = row < 0;
  if (row < 0) return;
  const id = store.predicted[row];
  const isKnown = id !== NO_CLASS;
  const how = isLabeled(row) ? "labeled" : `${estimated(store.confidence[row] / 255)} sure`;
  const name = make("b", mark(id), isKnown ? className(id) : "nothing known");
  replace(tip, name, make("span", `${rowName(row)}${isKnown ? `, ${how}` : ""}`), picture(row, "hovered"));
  placeTip(row);
  describe(row);
}

function placeTip(row) {
  const { scale, left, top } = placement();
  const x = (scale * xs[row] + left) / devicePixelRatio;
  const y = (scale * ys[row] + top) / devicePixelRatio;
  const { clientWidth, clientHeight } = overlay;
  const isLeft = x > clientWidth / 2;
  const isAbove = y > clientHeight / 2;
  tip.style.left = isLeft ? "auto" : `${x + 16}px`;
  tip.style.right = isLeft ? `${clientWidth - x + 16}px` : "auto";
  tip.style.top = isAbove ? "auto" : `${y + 12}px`;
  tip.style.bottom = isAbove ? `${clientHeight - y + 12}px` : "auto";
}

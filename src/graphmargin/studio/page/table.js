// The table: rows in view alone are in the page, and come from the server in pages of a hundred.

import { ApiError, getJson } from "./api.js";
import { openBulk } from "./bulk.js";
import { button, byId, debounce, estimated, make, plural, replace, rowNumber } from "./dom.js";
import { mark, picture } from "./marks.js";
import { NO_CLASS, QUESTION, SKIPPED, UNSURE, className, isLabeled, on, show, store, visit } from "./store.js";

const PAGE = 100;
const HEIGHT = 28; // of a row, as in the style sheet
const FIXED = [["row", "row"], ["label", "label"], ["predicted", "predicted"], ["confidence", "confidence"]];

const scroller = byId("scroller");
const form = byId("filter");
const head = scroller.querySelector("thead");
const body = scroller.querySelector("tbody");

let columns = null;
let total = 0;
let sort = "row";
let isDescending = false;
let pages = new Map(); // number of a page -> its rows, or a promise of them
let query = 0; // number of the query that the pages answer

export function startTable() {
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", debounce(reload, 200));
  scroller.addEventListener("scroll", () => requestAnimationFrame(render));
  scroller.addEventListener("keydown", pressKey);
  new ResizeObserver(render).observe(scroller);
  byId("label-filtered").addEventListener("click", () => openBulk({ filter: filter(), total }));
  on("table", reload);
  on("state", () => {
    renderOptions("label", [["any", "Label"], ["none", "no label"]]);
    renderOptions("predicted", [["any", "Prediction"]]);
  });
  on("row predictions", render);
  on("predictions", debounce(() => isOrdered() && reload(false), 400));
}

/** Return whether new predictions can change which rows are listed, or their order. */
const isOrdered = () => sort !== "row" || isFiltered();

function filter() {
  return Object.fromEntries(new FormData(form));
}

function isFiltered() {
  const { text, label, predicted, decision, max_confidence: most } = filter();
  return text !== "" || label !== "any" || predicted !== "any" || decision !== "any" || most !== "1";
}

function renderOptions(name, fixed) {
  const select = form.elements[name];
  const options = [...fixed, ...store.state.classes.map((one) => [String(one.id), one.name])];
  const before = select.value || "any";
  replace(select, options.map(([value, text]) => make("option", { value, selected: value === before }, text)));
}

async function reload(toTop = true) {
  if (store.table === null) return;
  query += 1;
  pages = new Map();
  if (toTop) scroller.scrollTop = 0;
  await load(Math.floor(firstRow() / PAGE));
  render();
}

const firstRow = () => Math.floor(scroller.scrollTop / HEIGHT);

async function load(page) {
  if (pages.has(page)) return;
  pages.set(page, null);
  const asked = query;
  const parts = { ...filter(), offset: page * PAGE, limit: PAGE, sort, descending: isDescending ? 1 : 0 };
  try {
    const answer = await getJson(`/api/list?${new URLSearchParams(parts)}`);
    if (asked !== query) return;
    pages.set(page, answer.rows);
    total = answer.total;
    if (columns === null) columns = answer.columns;
    byId("total").textContent = plural(total, "row");
    byId("label-filtered").hidden = !isFiltered() || total === 0;
    renderHead();
    render();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    pages.delete(page);
    byId("total").textContent = error.message;
  }
}

function renderHead() {
  const cells = [...FIXED, ...columns.map((name) => [name, name])].map(([value, text]) => {
    const order = sort === value ? (isDescending ? "descending" : "ascending") : "none";
    const arrow = { none: "", ascending: " ↑", descending: " ↓" }[order];
    const title = `Sort by ${text}`;
    return make("th", { scope: "col", "aria-sort": order }, button(text + arrow, () => sortBy(value), { title }));
  });
  replace(head, make("tr", cells));
}

function sortBy(value) {
  isDescending = sort === value && !isDescending;
  sort = value;
  reload();
}

/** Put the rows in view between two empty rows that are as high as all the others. */
function render() {
  if (columns === null) return;
  const first = Math.max(0, firstRow() - 5);
  const last = Math.min(total, firstRow() + Math.ceil(scroller.clientHeight / HEIGHT) + 5);
  const rows = [];
  for (let index = first; index < last; index += 1) {
    const page = Math.floor(index / PAGE);
    const one = pages.get(page)?.[index % PAGE];
    if (one) rows.push(line(one, index));
    else {
      if (!pages.has(page)) load(page);
      rows.push(make("tr.waiting", make("td", { colspan: 4 + columns.length }, "…")));
    }
  }
  const width = 4 + columns.length;
  replace(body, space(first, width), rows, space(total - last, width));
  scroller.firstElementChild.setAttribute("aria-rowcount", total + 1);
  if (total === 0) replace(body, make("tr", make("td.empty", { colspan: width }, "No row matches the filter.")));
}

function space(rows, colspan) {
  if (rows <= 0) return null;
  const cell = make("td", { colspan });
  cell.style.height = `${rows * HEIGHT}px`;
  return make("tr.space", { "aria-hidden": true }, cell);
}

const FLAGS = [[QUESTION, "question"], [UNSURE, "unsure"], [SKIPPED, "skipped"]];

/** Return a line; label, prediction and confidence are those of this moment. */
function line({ row, cells }, index) {
  const predicted = store.predicted[row];
  const flag = FLAGS.find(([bit]) => store.flags[row] & bit)?.[1];
  const name = (id) => (id === NO_CLASS ? [""] : [mark(id), className(id)]);
  return make(
    "tr",
    { class: row === store.row ? "here" : "", "aria-rowindex": index + 2, click: () => visit(row) },
    make("td.number", picture(row, "small"), rowNumber(row)),
    make("td", name(store.labels[row]), flag && !isLabeled(row) ? make("span.soft", flag) : null),
    make("td", name(predicted)),
    make("td.number", predicted === NO_CLASS ? "" : estimated(store.confidence[row] / 255)),
    cells.map((text) => make("td", { title: text }, text)),
  );
}

/** Choose rows of the table by the keyboard. */
function pressKey(event) {
  const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (!by) return;
  event.preventDefault();
  event.stopPropagation();
  const visible = [...pages].flatMap(([page, rows]) => (rows ?? []).map((one, k) => [page * PAGE + k, one.row]));
  const at = visible.find(([, row]) => row === store.row)?.[0] ?? firstRow() - by;
  const next = visible.find(([index]) => index === at + by);
  if (!next) return;
  const top = next[0] * HEIGHT; // the head covers a line, and the bar at the bottom nearly one
  const lowest = top + 3 * HEIGHT - scroller.clientHeight;
  scroller.scrollTop = Math.min(top, Math.max(lowest, scroller.scrollTop));
  show(next[1]);
}

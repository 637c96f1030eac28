// The row at hand: its picture and cells, what is predicted and why, the answers, and the queue.

import { openChooser } from "./classes.js";
import { byId, make, percent, plural, replace, rowName } from "./dom.js";
import { colorClass, mark } from "./palette.js";
import { classOf, className, decide, on, questionOn, step, store, visit } from "./store.js";

const panel = byId("row-panel");

export function startRow() {
  on("row state busy", render);
}

// --- Decisions on the row at hand, for buttons and keys.

export function labelRow(id, by) {
  const { row, details } = store;
  if (row === null || !classOf(id)) return;
  const suggested = details?.row === row ? details.predicted : 0;
  const source = questionOn(row) ? "question" : by;
  decide(
    { action: "label", rows: [row], class: id, by: source, suggested },
    { text: `Labeled ${rowName(row)}: ${className(id)}.` },
  );
}

/** Label the row as it is predicted, or as a question expects it. */
export function acceptPrediction(by) {
  const id = questionOn(store.row)?.expected ?? store.predicted[store.row];
  if (id) labelRow(id, by);
}

const SIMPLE = { skip: "Skipped", unsure: "Unsure about", clear: "No label for", keep: "Kept the label of" };

export function decideRow(action) {
  const { row } = store;
  if (row === null || (action === "keep" && !questionOn(row))) return;
  if (action === "clear" && !store.labels[row]) return;
  decide({ action, rows: [row] }, { text: `${SIMPLE[action]} ${rowName(row)}.`, goesOn: action !== "clear" });
}

// --- Views.

function render() {
  if (store.row === null || !store.state) return;
  const { details } = store;
  const scroll = panel.querySelector(".body")?.scrollTop;
  const isSame = panel.dataset.row === String(store.row);
  panel.dataset.row = store.row;
  panel.setAttribute("aria-busy", store.isBusy);
  const focused = panel.contains(document.activeElement) ? document.activeElement.id : "";
  replace(
    panel,
    head(),
    make("div", { class: "body" }, question(), details ? [content(details), because(details)] : null, queue()),
    answers(),
  );
  if (isSame && scroll) panel.querySelector(".body").scrollTop = scroll;
  if (focused) byId(focused)?.focus();
}

function head() {
  const { row } = store;
  const rows = store.state.queue.map((one) => one.row);
  const at = rows.indexOf(row);
  const where = at >= 0 ? `${at + 1} of ${rows.length} suggested` : "not in the queue";
  return make(
    "div",
    { class: "head" },
    make("h2", {}, rowName(row).replace("r", "R")),
    make("span", { class: "soft" }, where),
    make("button", { id: "before", type: "button", "aria-label": "Row before in the queue", title: "Row before in the queue (←)", click: () => step(-1), disabled: at === 0 }, "←"),
    make("button", { id: "after", type: "button", "aria-label": "Next row in the queue", title: "Next row in the queue (→)", click: () => step(1), disabled: at === rows.length - 1 }, "→"),
  );
}

function question() {
  const asked = questionOn(store.row);
  if (!asked) return null;
  return make(
    "div",
    { class: "question" },
    make("p", {}, "Is this label right? You chose ", make("b", {}, className(asked.label)), ", but ", make("b", {}, className(asked.expected)), ` is expected (${percent(asked.probability)}).`),
    make("button", { id: "keep", type: "button", click: () => decideRow("keep") }, `Keep ${className(asked.label)} `, make("kbd", {}, "k")),
    make("button", { id: "change", type: "button", click: () => acceptPrediction("button") }, `Change to ${className(asked.expected)} `, make("kbd", {}, "y")),
  );
}

/** Return the picture and the cells of a row; the numbers of pixels are folded away. */
function content(details) {
  const { image } = store.table;
  const source = `/api/rows/${details.row}/image`;
  const cells = make(
    "dl",
    { class: "cells" },
    details.cells.map(([name, text]) => [
      make("dt", {}, name),
      make("dd", { class: text === "" ? "missing" : "" }, text === "" ? "empty" : text),
    ]),
  );
  const isPixels = image?.kind === "pixels";
  return [
    make(
      "div",
      { class: "pictured" },
      image ? make("img", { class: image.kind, src: source, alt: `Picture of ${rowName(details.row)}`, error: (event) => event.target.remove() }) : null,
      prediction(details),
    ),
    isPixels ? make("details", { class: "fold" }, make("summary", {}, plural(details.cells.length, "cell")), cells) : cells,
  ];
}

function prediction(details) {
  const { label, decision, predicted, confidence, reason } = details;
  const decided = decision === "unsure" || decision === "skipped" ? `You were ${decision === "unsure" ? "unsure" : "here and skipped it"}. ` : "";
  return make(
    "div",
    { class: "prediction" },
    label ? make("p", { class: "big" }, mark(label), className(label)) : null,
    label ? make("p", { class: "soft" }, "the label of this row") : null,
    !label && predicted ? make("p", { class: "big" }, mark(predicted), className(predicted)) : null,
    !label && predicted ? make("p", { class: "soft" }, `predicted, ${percent(confidence)} sure`) : null,
    !label && !predicted ? make("p", { class: "big" }, "Nothing known yet") : null,
    reason || decided ? make("p", { class: "reason" }, decided, reason ?? "") : null,
  );
}

/** Return the labeled rows that the prediction comes from. */
function because({ because: rows }) {
  if (!rows?.length) return null;
  const items = rows.map(({ row, label, share }) =>
    make("li", {}, make("button", { type: "button", class: "link", click: () => visit(row) }, thumbnail(row), mark(label), `${className(label)} (${rowName(row)})`), make("span", { class: "soft" }, percent(share))),
  );
  return make("section", { class: "because" }, make("h3", {}, "Because of the labels of"), make("ul", {}, items));
}

export function thumbnail(row) {
  const { image } = store.table;
  return image ? make("img", { class: `thumbnail ${image.kind}`, src: `/api/rows/${row}/image`, alt: "", loading: "lazy", error: (event) => event.target.remove() }) : null;
}

function queue() {
  const rows = store.state.queue.filter(({ row }) => row !== store.row);
  if (rows.length === 0) return null;
  const items = rows.map(({ row, predicted, reason }) =>
    make("li", {}, thumbnail(row), make("button", { type: "button", class: "link", click: () => visit(row) }, mark(predicted), rowName(row).replace("r", "R")), make("span", { class: "soft" }, reason ?? "")),
  );
  return make("section", { class: "queue" }, make("h3", {}, "Next rows"), make("ol", {}, items));
}

function answers() {
  const { classes } = store.state;
  const shares = new Map(store.details?.distribution ?? []);
  const label = store.labels[store.row];
  const predicted = store.predicted[store.row];
  const tool = (id, text, key, click, disabled = false) =>
    make("button", { id, type: "button", click, disabled }, `${text} `, make("kbd", {}, key));
  const buttons = classes.map(({ id, name, key }) => {
    const share = shares.get(id) ?? 0;
    const bar = make("i", { class: colorClass(id) });
    bar.style.width = percent(share);
    return make(
      "button",
      { id: `answer-${id}`, type: "button", class: "answer", "aria-pressed": label === id, title: name, click: () => labelRow(id, "button") },
      bar,
      key ? make("kbd", {}, key) : null,
      mark(id),
      make("span", { class: "name" }, name),
      share >= 0.005 ? make("span", { class: "soft" }, percent(share)) : null,
    );
  });
  return make(
    "div",
    { class: "answers" },
    classes.length === 0 ? make("p", { class: "empty" }, "There is no class yet. What kinds of rows are there? ", make("button", { id: "first-class", type: "button", class: "link", click: () => openChooser(true) }, "Name the first class.")) : null,
    make("div", { class: classes.length === 2 ? "choices two" : "choices", role: "group", "aria-label": "Label of the row" }, buttons),
    make(
      "div",
      { class: "others" },
      tool("accept", predicted ? `Yes, ${className(predicted)}` : "Yes", "y", () => acceptPrediction("button"), !predicted || label > 0),
      tool("skip", "Skip", "s", () => decideRow("skip")),
      tool("unsure", "Unsure", "u", () => decideRow("unsure")),
      label ? tool("clear", "Clear", "x", () => decideRow("clear")) : null,
    ),
  );
}

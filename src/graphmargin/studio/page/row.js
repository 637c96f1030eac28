// The row at hand: its picture and cells, what is predicted and why, the answers, and the queue.

import { RowName, button, byId, estimated, make, percent, plural, replace, rowName } from "./dom.js";
import { colorClass, mark, picture } from "./marks.js";
import { NO_CLASS, classOf, className, decide, isLabeled, on, questionOn, step, store, visit } from "./store.js";

const panel = byId("row-panel");

export function startRow() {
  on("row state", render);
  on("busy", () => panel.setAttribute("aria-busy", store.isBusy));
}

// --- Decisions on the row at hand, for buttons and keys.

export function labelRow(id, by) {
  const { row, details } = store;
  if (row === null || !classOf(id)) return;
  const suggested = details?.row === row ? details.predicted : NO_CLASS;
  const source = questionOn(row) ? "question" : by;
  const text = `Labeled ${rowName(row)}: ${className(id)}.`;
  decide({ action: "label", rows: [row], class: id, by: source, suggested }, { text });
}

/** Label the row as it is predicted, or as a question expects it. */
export function acceptPrediction(by) {
  labelRow(questionOn(store.row)?.expected ?? store.predicted[store.row], by);
}

const SAID = { skip: "Skipped", unsure: "Unsure about", clear: "No label for", keep: "Kept the label of" };

export function decideRow(action) {
  const { row } = store;
  if (row === null || (action === "keep" && !questionOn(row))) return;
  if (action === "clear" && !isLabeled(row)) return;
  const text = `${SAID[action]} ${rowName(row)}.`;
  decide({ action, rows: [row] }, { text, goesOn: action !== "clear" });
}

// --- Views.

function render() {
  if (store.row === null || !store.state) return;
  const { details } = store;
  const scroll = panel.querySelector(".body")?.scrollTop;
  const isSame = panel.dataset.row === String(store.row);
  const focused = panel.contains(document.activeElement) ? document.activeElement.id : "";
  panel.dataset.row = store.row;
  panel.setAttribute("aria-busy", store.isBusy);
  const body = make("div.body", question(), details && [content(details), because(details)], queue());
  replace(panel, head(), body, answers());
  if (isSame && scroll) body.scrollTop = scroll;
  if (focused) byId(focused)?.focus();
}

function head() {
  const rows = store.state.queue.map((one) => one.row);
  const at = rows.indexOf(store.row);
  const arrow = (id, text, name, by, isEnd) =>
    button(text, () => step(by), { id, "aria-label": name, title: `${name} (${text})`, disabled: isEnd });
  return make(
    "div.head",
    make("h2", RowName(store.row)),
    make("span.soft", at >= 0 ? `${at + 1} of ${rows.length} suggested` : "not in the queue"),
    arrow("before", "←", "Previous row in the queue", -1, at === 0),
    arrow("after", "→", "Next row in the queue", 1, at === rows.length - 1),
  );
}

function question() {
  const asked = questionOn(store.row);
  if (!asked) return null;
  const [label, expected] = [className(asked.label), className(asked.expected)];
  const said = ["You chose ", make("b", label), ", but ", make("b", expected)];
  const chance = estimated(asked.probability);
  return make(
    "div.question",
    make("p", "Is this label right? ", ...said, ` is expected (${chance}).`),
    button(`Keep ${label}`, () => decideRow("keep"), { id: "keep", key: "k" }),
    button(`Change to ${expected}`, () => acceptPrediction("button"), { id: "change", key: "y" }),
  );
}

/** Return the picture and the cells of a row; the numbers of pixels are folded away. */
function content(details) {
  const cell = ([name, text]) => [make("dt", name), text === "" ? make("dd.empty", "empty") : make("dd", text)];
  const cells = make("dl.cells", details.cells.map(cell));
  const summary = make("summary", plural(details.cells.length, "cell"));
  return [
    make("div.pictured", picture(details.row, "large", `Picture of ${rowName(details.row)}`), prediction(details)),
    store.table.image?.kind === "pixels" ? make("details.fold", summary, cells) : cells,
  ];
}

const DECIDED = { unsure: "You were unsure about this row. ", skipped: "You skipped this row. " };

function prediction({ label, decision, predicted, confidence, reason }) {
  const isKnown = predicted !== NO_CLASS;
  const how = label !== NO_CLASS ? "the label of this row" : `predicted, ${estimated(confidence)} sure`;
  const why = (DECIDED[decision] ?? "") + (reason ?? "");
  return make(
    "div.prediction",
    isKnown ? make("p.big", mark(predicted), className(predicted)) : make("p.big", "Nothing known yet"),
    isKnown ? make("p.soft", how) : null,
    why ? make("p.reason", why) : null,
  );
}

/** Return the labeled rows that the prediction comes from. */
function because({ because: sources }) {
  const rows = sources.filter(({ share }) => share >= 0.005);
  if (rows.length === 0) return null;
  const items = rows.map(({ row, label, share }) => {
    const name = [picture(row, "thumbnail"), mark(label), `${className(label)} (${rowName(row)})`];
    return make("li", button(name, () => visit(row), { class: "link" }), make("span.soft", percent(share)));
  });
  return make("section.because", make("h3", "Because of the labels of"), make("ul", items));
}

function queue() {
  const rows = store.state.queue.filter(({ row }) => row !== store.row);
  const items = rows.map(({ row, predicted, reason }) => {
    const name = button([mark(predicted), RowName(row)], () => visit(row), { class: "link" });
    return make("li", picture(row, "thumbnail"), name, make("span.soft", reason ?? ""));
  });
  return items.length > 0 ? make("section.queue", make("h3", "Next rows"), make("ol", items)) : null;
}

function answers() {
  const { classes } = store.state;
  const hasLabel = isLabeled(store.row);
  const predicted = store.predicted[store.row];
  const empty = make("p.empty", "There is no class yet. Name the first one: press n, or look among the classes.");
  const name = `As predicted: ${className(predicted)}`;
  const accept = button("As predicted", () => acceptPrediction("button"), { id: "accept", key: "y", "aria-label": name });
  const kind = classes.length === 2 ? "div.choices.two" : "div.choices";
  return make(
    "div.answers",
    classes.length === 0 ? empty : null,
    make(kind, { role: "group", "aria-label": "Label of the row" }, classes.map(answer)),
    make(
      "div.others",
      predicted !== NO_CLASS && !hasLabel ? accept : null,
      button("Skip", () => decideRow("skip"), { id: "skip", key: "s" }),
      button("Unsure", () => decideRow("unsure"), { id: "unsure", key: "u" }),
      hasLabel ? button("Clear", () => decideRow("clear"), { id: "clear", key: "x" }) : null,
    ),
  );
}

function answer({ id, name, key }) {
  const share = new Map(store.details?.distribution).get(id) ?? 0;
  const bar = make("i", { class: colorClass(id) });
  bar.style.width = percent(share);
  const parts = [bar, key && make("kbd", key), mark(id), make("span.name", name)];
  if (share >= 0.005) parts.push(make("span.soft", percent(share)));
  const attributes = { id: `answer-${id}`, class: "answer", title: name };
  const isChosen = store.labels[store.row] === id;
  return button(parts, () => labelRow(id, "button"), { ...attributes, "aria-pressed": isChosen });
}

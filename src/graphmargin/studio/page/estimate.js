// How good the labels are: the estimate over time, advice, the model that is shown, and questions.

import { byId, draw, make, percent, plural, replace, rowName } from "./dom.js";
import { mark } from "./palette.js";
import { className, command, decide, on, store, visit } from "./store.js";

const WIDTH = 280;
const HEIGHT = 104;

export function startEstimate() {
  on("state", () => {
    renderEstimate();
    renderQuestions();
    renderModel();
    const { kind, text } = store.state.advice;
    const button = make("button", { id: "look", type: "button", click: nextQuestion }, "Look ", make("kbd", {}, "q"));
    replace(byId("advice"), `${text} `, kind === "question" ? button : null);
    byId("advice").dataset.kind = kind;
  });
  byId("fit").addEventListener("click", toggleFit);
}

const SOURCES = {
  "leave-one-out": "Each label was left out once and predicted from the others.",
  "held-out": "By the automatic choice, on held-out labels.",
};

function renderEstimate() {
  const { estimate, history } = store.state;
  replace(
    byId("estimate"),
    make("h2", {}, "Estimated accuracy"),
    estimate
      ? make("p", { class: "figure" }, make("b", {}, percent(estimate.accuracy)), make("span", { class: "soft" }, ` between ${percent(estimate.low)} and ${percent(estimate.high)}`))
      : make("p", { class: "empty" }, "An estimate needs a few labels of two classes."),
    estimate && history.length > 1 ? chart(history) : null,
    estimate ? make("p", { class: "soft" }, SOURCES[estimate.source] ?? "") : null,
  );
}

/** Return a chart of the accuracy and its interval against the number of labels. */
function chart(history) {
  const first = history[0][0];
  const last = Math.max(first + 1, history[history.length - 1][0]);
  const lowest = Math.min(0.9, Math.floor(10 * Math.min(...history.map(([, , low]) => low))) / 10);
  const x = (labels) => (34 + ((WIDTH - 42) * (labels - first)) / (last - first)).toFixed(1);
  const y = (share) => (8 + ((HEIGHT - 28) * (1 - share)) / (1 - lowest)).toFixed(1);
  const line = (index) => history.map((point) => `${x(point[0])} ${y(point[index])}`);
  const levels = [1, (1 + lowest) / 2, lowest];
  return draw(
    "svg",
    { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `Accuracy from ${percent(history[0][1])} with ${first} labels to ${percent(history[history.length - 1][1])} with ${last}` },
    levels.map((level) => [
      draw("path", { class: "grid", d: `M34 ${y(level)}H${WIDTH - 8}` }),
      draw("text", { x: 28, y: Number(y(level)) + 3.5, "text-anchor": "end" }, percent(level)),
    ]),
    draw("path", { class: "band", d: `M${line(3).join("L")}L${line(2).reverse().join("L")}Z` }),
    draw("path", { class: "line", d: `M${line(1).join("L")}` }),
    draw("text", { x: 34, y: HEIGHT - 4 }, plural(first, "label")),
    draw("text", { x: WIDTH - 8, y: HEIGHT - 4, "text-anchor": "end" }, plural(last, "label")),
  );
}

function renderQuestions() {
  const { questions } = store.state;
  const item = ({ row, label, expected, probability, reason }) =>
    make(
      "li",
      {},
      make("button", { type: "button", class: "link", title: reason ?? "", click: () => visit(row) }, `${rowName(row).replace("r", "R")}: `, mark(label), className(label), ", expected ", mark(expected), `${className(expected)} (${percent(probability)})`),
      make(
        "span",
        { class: "pair" },
        make("button", { type: "button", "aria-label": `Keep ${className(label)} in ${rowName(row)}`, click: () => decide({ action: "keep", rows: [row] }, { text: `Kept the label of ${rowName(row)}.`, goesOn: false }) }, "Keep"),
        make("button", { type: "button", "aria-label": `Change ${rowName(row)} to ${className(expected)}`, click: () => decide({ action: "label", rows: [row], class: expected, by: "question", suggested: expected }, { text: `Changed ${rowName(row)} to ${className(expected)}.`, goesOn: false }) }, "Change"),
      ),
    );
  replace(
    byId("questions"),
    make("h2", {}, "Labels that look wrong ", questions.length > 0 ? make("kbd", {}, "q") : null),
    questions.length > 0 ? make("ul", {}, questions.map(item)) : make("p", { class: "empty" }, "None at the moment."),
  );
}

/** Show the next question as the row at hand. */
export function nextQuestion() {
  const rows = store.state.questions.map((one) => one.row);
  if (rows.length > 0) visit(rows[(rows.indexOf(store.row) + 1) % rows.length]);
}

function renderModel() {
  const { shown, fit, progress, stage, stale_labels: stale, error } = store.state.model;
  const isRunning = fit === "running";
  const since = stale > 0 ? `, ${plural(stale, "label")} ago` : "";
  let text = shown === "automatic" ? `Shown: automatic choice${since}` : "Shown: live predictions";
  if (isRunning) text = `Automatic choice: ${stage || "starting"}`;
  else if (fit === "failed") text = `The automatic choice failed: ${error}`;
  byId("model-shown").textContent = text;
  byId("model-progress").hidden = !isRunning;
  byId("model-progress").value = progress ?? 0;
  replace(byId("fit"), isRunning ? "Cancel " : "Run automatic choice ", make("kbd", {}, "g"));
  byId("fit").title = isRunning ? "Keep the live predictions" : "Choose parameters with held-out labels in the background; slower and better than live";
}

export function toggleFit() {
  const isRunning = store.state.model.fit === "running";
  command(isRunning ? "/api/fit/cancel" : "/api/fit");
}

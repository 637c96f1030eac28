// How good the labels are: the estimate over time, advice, the model that is shown, and questions.

import { RowName, button, byId, draw, estimated, make, percent, plural, replace, rowName } from "./dom.js";
import { mark } from "./marks.js";
import { className, command, decide, on, store, visit } from "./store.js";

const WIDTH = 280;
const HEIGHT = 104;

export function startEstimate() {
  on("state", () => {
    renderEstimate();
    renderQuestions();
    const { kind, text } = store.state.advice;
    const look = kind === "question" ? button("Look", nextQuestion, { id: "look", key: "q" }) : null;
    replace(byId("advice"), `${text} `, look);
    byId("advice").dataset.kind = kind;
  });
  on("model", renderModel);
  byId("fit").addEventListener("click", toggleFit);
}

const SOURCES = {
  "leave-one-out": "Each label was left out once and predicted from the others.",
  "held-out": "By the automatic choice, on held-out labels.",
};

function renderEstimate() {
  const { estimate, history } = store.state;
  const head = make("h2", "Estimated accuracy");
  if (!estimate) {
    replace(byId("estimate"), head, make("p.empty", "An estimate needs a few labels of two classes."));
    return;
  }
  const range = make("span.soft", ` between ${estimated(estimate.low)} and ${estimated(estimate.high)}`);
  replace(
    byId("estimate"),
    head,
    make("p.figure", make("b", `about ${estimated(estimate.accuracy)}`), range),
    history.length > 1 ? chart(history) : null,
    make("p.soft", SOURCES[estimate.source] ?? ""),
  );
}

/** Return a chart of the accuracy and its interval against the number of labels. */
function chart(history) {
  const first = history[0][0];
  const last = Math.max(first + 1, history[history.length - 1][0]);
  const lowest = Math.floor(5 * Math.min(0.9, ...history.map(([, , low]) => low))) / 5;
  const x = (labels) => (34 + ((WIDTH - 42) * (labels - first)) / (last - first)).toFixed(1);
  const y = (share) => (8 + ((HEIGHT - 28) * (1 - share)) / (1 - lowest)).toFixed(1);
  const line = (index) => history.map((point) => `${x(point[0])} ${y(point[index])}`);
  const levels = [1, (1 + lowest) / 2, lowest];
  const [, before] = history[0];
  const [, now] = history[history.length - 1];
  const name = `Accuracy from ${estimated(before)} with ${first} labels to ${estimated(now)} with ${last}`;
  return draw(
    "svg",
    { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": name },
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
  const head = make("h2", "Labels that look wrong ", questions.length > 0 ? make("kbd", "q") : null);
  const list = questions.length > 0 ? make("ul", questions.map(question)) : make("p.empty", "None at the moment.");
  replace(byId("questions"), head, list);
}

function question({ row, label, expected, probability, reason }) {
  const found = [`${RowName(row)}: `, mark(label), className(label), ", expected "];
  const name = [...found, mark(expected), className(expected), ` (${estimated(probability)})`];
  const keep = { action: "keep", rows: [row] };
  const change = { action: "label", rows: [row], class: expected, by: "question", suggested: expected };
  const answer = (text, body, said) =>
    button(text, () => decide(body, { text: said, goesOn: false }), { "aria-label": said });
  return make(
    "li",
    button(name, () => visit(row), { class: "link", title: reason }),
    make(
      "span.pair",
      answer("Keep", keep, `Keep the label of ${rowName(row)}`),
      answer("Change", change, `Change ${rowName(row)} to ${className(expected)}`),
    ),
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
  replace(byId("fit"), isRunning ? "Cancel " : "Run automatic choice ", make("kbd", "g"));
  byId("fit").title = isRunning ? "Keep the live predictions" : "Fit with chosen parameters, in the background";
}

export function toggleFit() {
  const isRunning = store.state.model.fit === "running";
  command(isRunning ? "/api/fit/cancel" : "/api/fit");
}

// Keys of the page, and the help that lists them.

import { openChooser } from "./classes.js";
import { button, byId, make, replace } from "./dom.js";
import { nextQuestion, toggleFit } from "./estimate.js";
import { labelView, toggleLasso } from "./map.js";
import { acceptPrediction, decideRow, labelRow } from "./row.js";
import { decide, say, step, store } from "./store.js";

const focus = (tab, id) => () => {
  document.body.dataset.tab = tab;
  byId(id).focus();
};

/** Take back the last decision, or take it again. */
export function undo(action) {
  const text = store.state[action === "undo" ? "can_undo" : "can_redo"];
  if (text === null) say(`There is nothing to ${action}.`);
  else decide({ action }, { text: `${action === "undo" ? "Undone" : "Done again"}: ${text}.` });
}

const ACTIONS = [
  ["y", "The prediction is right: label the row with it", () => acceptPrediction("key")],
  ["c", "Choose or add a class by its name", () => openChooser()],
  ["s", "Skip the row", () => decideRow("skip")],
  ["u", "Unsure: come back to the row later", () => decideRow("unsure")],
  ["x", "Clear the label of the row", () => decideRow("clear")],
  ["z", "Undo (also Ctrl+Z)", () => undo("undo")],
  ["Z", "Redo (also Ctrl+Shift+Z)", () => undo("redo")],
  ["ArrowRight", "Next row in the queue", () => step(1)],
  ["ArrowLeft", "Previous row in the queue", () => step(-1)],
  ["q", "Next label that looks wrong", nextQuestion],
  ["k", "Keep that label", () => decideRow("keep")],
  ["l", "Lasso: draw around rows on the map (or hold Shift)", toggleLasso],
  ["v", "Label all rows that the map shows", labelView],
  ["m", "Go to the map: arrows pan, + and - zoom, f shows all", focus("map", "overlay")],
  ["t", "Go to the table: arrows choose a row", focus("table", "scroller")],
  ["/", "Filter the table", () => focus("table", "filter")() ?? byId("filter").elements.text.focus()],
  ["n", "New class", focus("side", "new-class")],
  ["g", "Run or cancel the automatic choice", toggleFit],
  ["e", "Export", () => byId("export-menu").togglePopover() && byId("export-menu").firstElementChild.focus()],
  ["?", "Show this help", () => openHelp()],
];
const INTRODUCTION = [
  "Answer for the row at hand. Each label spreads to similar rows, and the next row is the one whose " +
    "label helps most. Stop when the advice says so, then export. Every decision is saved at once.",
  "On the map, colors and shapes are classes, pale points are uncertain, and an outline marks a label.",
];
const SHOWN = { ArrowRight: "→", ArrowLeft: "←" };

export function startKeys() {
  document.addEventListener("keydown", press);
  byId("help").addEventListener("click", openHelp);
}

function press(event) {
  if (document.querySelector("dialog[open]") || store.state === null) return;
  if (event.target.matches("input, select, textarea")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z") {
    event.preventDefault();
    undo(event.shiftKey ? "redo" : "undo");
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const one = store.state.classes.find(({ key }) => key === event.key);
  const action = ACTIONS.find(([key]) => key === event.key);
  if (!one && !action) return;
  event.preventDefault();
  if (event.repeat && !event.key.startsWith("Arrow")) return; // a held key decides once
  if (one) labelRow(one.id, "key");
  else action[2]();
}

function openHelp() {
  const dialog = byId("help-dialog");
  const lines = ACTIONS.map(([key, text]) => [SHOWN[key] ?? key, text]);
  lines.unshift(["1 … 9", "Label the row with the class of this key"]);
  replace(
    dialog,
    make("h2", { id: "help-title" }, "How to label with the studio"),
    INTRODUCTION.map((text) => make("p", text)),
    make("dl.keys", lines.map(([key, text]) => [make("dt", make("kbd", key)), make("dd", text)])),
    make("div.end", button("Close", () => dialog.close(), { class: "main", key: "Esc" })),
  );
  dialog.showModal();
}

// Labels for many rows at once, after a look at how many they are and which of them disagree.

import { postJson, getJson } from "./api.js";
import { byId, count, make, percent, plural, replace, rowName } from "./dom.js";
import { mark } from "./palette.js";
import { className, decide, say, store } from "./store.js";

const dialog = byId("bulk-dialog");

/** Open the dialog on `{ rows }` of a lasso or on `{ filter }` of the table. */
export function openBulk(selection) {
  const { classes } = store.state;
  if (classes.length === 0) {
    say("There is no class yet. Press n to name the first one.");
    return;
  }
  let chosen = null;
  let current = null; // rows or filter that the preview is about
  const isLasso = Boolean(selection.rows);
  const only = make("input", { type: "checkbox", id: "only-unlabeled", checked: true, change: () => chosen && preview(chosen) });
  const result = make("div", { class: "preview", "aria-live": "polite" }, make("p", { class: "soft" }, "Choose a class to see what would change."));
  const run = make("button", { type: "button", class: "main", disabled: true, click: () => apply() }, "Label");
  const buttons = new Map(
    classes.map(({ id, name, key }) => [
      id,
      make("button", { type: "button", class: "answer", "aria-pressed": false, click: () => preview(id) }, key ? make("kbd", {}, key) : null, mark(id), make("span", { class: "name" }, name)),
    ]),
  );

  const narrowed = () => {
    if (!only.checked) return selection;
    if (isLasso) return { rows: selection.rows.filter((row) => !store.labels[row]) };
    return { filter: { ...selection.filter, label: "none" } };
  };

  async function preview(id) {
    chosen = id;
    current = narrowed();
    for (const [other, button] of buttons) button.setAttribute("aria-pressed", other === id);
    run.disabled = true;
    try {
      const answer = await postJson("/api/preview", { ...current, class: id });
      if (chosen !== id) return;
      const examples = await Promise.all(answer.examples.map((row) => getJson(`/api/rows/${row}`)));
      if (chosen !== id) return;
      replace(result, sentences(answer, id), examples.length > 0 ? make("ul", { class: "examples" }, examples.map(example)) : null);
      replace(run, `Label ${plural(answer.rows, "row")} as ${className(id)} `, make("kbd", {}, "Enter"));
      run.disabled = answer.rows === 0;
      run.focus();
    } catch (error) {
      replace(result, make("p", {}, error.message));
    }
  }

  async function apply() {
    const by = isLasso ? "lasso" : "filter";
    const text = `Labeled the rows as ${className(chosen)}. Press z to undo.`;
    if (await decide({ action: "label", ...current, class: chosen, by }, { text })) dialog.close();
  }

  dialog.onkeydown = (event) => {
    const one = classes.find(({ key }) => key === event.key);
    if (one && !event.ctrlKey && !event.metaKey && !event.altKey) preview(one.id);
  };
  const isOpen = isLasso || selection.filter.label === "any";
  if (!isOpen) only.checked = false;
  replace(
    dialog,
    make("h2", { id: "bulk-title" }, isLasso ? `${plural(selection.rows.length, "row")} in the lasso` : `${plural(selection.total, "row")} of the filter`),
    make("div", { class: "choices", role: "group", "aria-label": "Label of these rows" }, [...buttons.values()]),
    isOpen ? make("label", { class: "check" }, only, "Leave out rows that have a label") : null,
    result,
    make("div", { class: "end" }, run, make("button", { type: "button", click: () => dialog.close() }, "Cancel ", make("kbd", {}, "Esc"))),
  );
  dialog.showModal();
}

function sentences({ rows, labeled, relabeled, disagree }, id) {
  const parts = [make("p", {}, make("b", {}, plural(rows, "row")), ` would be labeled ${className(id)}.`)];
  if (labeled > 0) parts.push(make("p", {}, `${plural(labeled, "row")} of them ${labeled === 1 ? "has" : "have"} a label already, ${count(relabeled)} another one.`));
  parts.push(
    disagree > 0
      ? make("p", { class: "warn" }, `${plural(disagree, "row")} ${disagree === 1 ? "is" : "are"} predicted otherwise, such as these:`)
      : make("p", {}, "No row is predicted otherwise with a confidence of 50% or more."),
  );
  return parts;
}

function example(details) {
  const { row, label, predicted, confidence, cells } = details;
  const { image } = store.table;
  const [, text] = cells.find(([, cell]) => cell !== "") ?? ["", ""];
  return make(
    "li",
    {},
    image ? make("img", { class: image.kind, src: `/api/rows/${row}/image`, alt: "" }) : make("span", { class: "cell" }, text),
    make("span", {}, mark(label || predicted), className(label || predicted)),
    make("span", { class: "soft" }, label ? `${rowName(row)}, labeled` : `${rowName(row)}, ${percent(confidence)}`),
  );
}

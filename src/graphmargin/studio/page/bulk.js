// Labels for many rows at once, after a look at how many they are and which of them disagree.

import { ApiError, getJson, postJson } from "./api.js";
import { button, byId, count, estimated, make, plural, replace, rowName } from "./dom.js";
import { mark, picture } from "./marks.js";
import { NO_CLASS, className, decide, isLabeled, say, store } from "./store.js";

const dialog = byId("bulk-dialog");

/** Open the dialog on `{ rows }` of a lasso, or on the `{ filter, total }` of the table. */
export function openBulk({ rows, filter, total }) {
  const { classes } = store.state;
  if (classes.length === 0) {
    say("There is no class yet. Press n to name the first one.");
    return;
  }
  let chosen = null;
  const canNarrow = rows !== undefined || filter.label === "any";
  const only = make("input", { type: "checkbox", checked: canNarrow, change: () => chosen && preview(chosen) });
  const hint = make("p.soft", "Choose a class to see what would change.");
  const result = make("div.preview", { "aria-live": "polite" }, hint);
  const run = button("Label", apply, { class: "main", disabled: true });
  const answers = new Map(classes.map((one) => [one.id, answer(one)]));

  function answer({ id, name, key }) {
    const parts = [key && make("kbd", key), mark(id), make("span.name", name)];
    return button(parts, () => preview(id), { class: "answer", "aria-pressed": false });
  }

  function selection() {
    if (rows) return { rows: only.checked ? rows.filter((row) => !isLabeled(row)) : rows };
    return { filter: only.checked ? { ...filter, label: "none" } : filter };
  }

  async function preview(id) {
    chosen = id;
    for (const [other, one] of answers) one.setAttribute("aria-pressed", other === id);
    run.disabled = true;
    try {
      const found = await postJson("/api/preview", { ...selection(), class: id });
      const examples = await Promise.all(found.examples.map((row) => getJson(`/api/rows/${row}`)));
      if (chosen !== id) return;
      replace(result, sentences(found, id), make("ul.examples", examples.map(example)));
      replace(run, `Label ${plural(found.rows, "row")} as ${className(id)} `, make("kbd", "Enter"));
      run.disabled = found.rows === 0;
      run.focus();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      replace(result, make("p", error.message));
    }
  }

  async function apply() {
    const by = rows ? "lasso" : "filter";
    const text = `Labeled the rows as ${className(chosen)}. Press z to undo.`;
    if (await decide({ action: "label", ...selection(), class: chosen, by }, { text })) dialog.close();
  }

  dialog.onkeydown = (event) => {
    const one = classes.find(({ key }) => key === event.key);
    if (one && !event.ctrlKey && !event.metaKey && !event.altKey) preview(one.id);
  };
  const title = rows ? `${plural(rows.length, "row")} in the lasso` : `${plural(total, "row")} of the filter`;
  replace(
    dialog,
    make("h2", { id: "bulk-title" }, title),
    make("div.choices", { role: "group", "aria-label": "Label of these rows" }, [...answers.values()]),
    canNarrow ? make("label.check", only, "Leave out rows that have a label") : null,
    result,
    make("div.end", run, button("Cancel", () => dialog.close(), { key: "Esc" })),
  );
  dialog.showModal();
}

function sentences({ rows, labeled, relabeled, disagree }, id) {
  const others = `${plural(disagree, "row")} ${disagree === 1 ? "is" : "are"} predicted otherwise, such as these:`;
  return [
    make("p", make("b", plural(rows, "row")), ` would be labeled ${className(id)}.`),
    labeled > 0 ? make("p", `${count(labeled)} of them have a label already, ${count(relabeled)} another one.`) : null,
    disagree > 0
      ? make("p.warn", others)
      : make("p", "No row is predicted otherwise with a confidence of 50% or more."),
  ];
}

function example({ row, label, predicted, confidence, cells }) {
  const [, text] = cells.find(([, cell]) => cell !== "") ?? ["", ""];
  const how = label !== NO_CLASS ? "labeled" : estimated(confidence);
  return make(
    "li",
    picture(row, "example") ?? make("span.cell", text),
    make("span", mark(predicted), className(predicted)),
    make("span.soft", `${rowName(row)}, ${how}`),
  );
}

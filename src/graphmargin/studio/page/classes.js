// The classes with their counts; add, rename and merge; and a class by its name for the keyboard.

import { byId, count, make, plural, replace } from "./dom.js";
import { highlight } from "./map.js";
import { mark } from "./palette.js";
import { labelRow } from "./row.js";
import { className, decide, on, store } from "./store.js";

const panel = byId("classes");

export function startClasses() {
  const list = make("ul", {});
  const name = make("input", { id: "new-class", name: "name", placeholder: "New class", "aria-label": "Name of a new class", autocomplete: "off", maxlength: 200 });
  const form = make("form", { class: "add", submit: (event) => add(event, name) }, name, make("button", { type: "submit" }, "Add ", make("kbd", {}, "n")));
  panel.append(make("h2", {}, "Classes"), list, form);
  on("state highlight", () => render(list));
}

async function add(event, input) {
  event.preventDefault();
  const name = input.value.trim();
  if (name === "") return;
  if (await decide({ action: "add_class", name }, { text: `Added the class ${name}.`, goesOn: false })) input.value = "";
}

function render(list) {
  const { classes, n_rows: rows } = store.state;
  replace(
    list,
    classes.length > 0
      ? make("li", { class: "soft columns", "aria-hidden": "true" }, make("span", { class: "name" }), make("span", { class: "number" }, "labeled"), make("span", { class: "number" }, "predicted"), make("span", { class: "edit" }))
      : make("li", { class: "empty" }, "No class yet. Type the name of the first one, such as “yes”."),
    classes.map(({ id, name, key, labels, predicted }) => {
      const bar = make("i", { class: "bar" });
      bar.style.width = `${(100 * predicted) / Math.max(1, rows)}%`;
      return make(
        "li",
        {},
        make(
          "button",
          { type: "button", class: "class", "aria-pressed": store.highlighted === id, title: `Show ${name} alone on the map`, "aria-label": `${name}: ${plural(labels, "label")}, ${count(predicted)} predicted. Show alone on the map.`, click: () => highlight(id) },
          mark(id),
          make("span", { class: "name" }, name),
          key ? make("kbd", {}, key) : null,
          make("span", { class: "number" }, count(labels)),
          make("span", { class: "number" }, count(predicted)),
          bar,
        ),
        make("button", { type: "button", class: "edit", "aria-label": `Rename or merge ${name}`, title: "Rename or merge", click: () => openEditor(id) }, "⋯"),
      );
    }),
  );
}

/** Open the dialog that renames a class or merges it into another one. */
function openEditor(id) {
  const dialog = byId("class-dialog");
  const name = make("input", { name: "name", value: className(id), "aria-label": "New name", maxlength: 200, autocomplete: "off" });
  const others = store.state.classes.filter((one) => one.id !== id);
  const into = make("select", { "aria-label": "Class to merge into" }, others.map((one) => make("option", { value: one.id }, one.name)));
  const run = async (event, body, text) => {
    event.preventDefault();
    if (await decide(body, { text, goesOn: false })) dialog.close();
  };
  replace(
    dialog,
    make("h2", { id: "class-title" }, mark(id), className(id)),
    make(
      "form",
      { submit: (event) => run(event, { action: "rename_class", class: id, name: name.value.trim() }, `Renamed to ${name.value.trim()}.`) },
      make("label", {}, "Name", name),
      make("button", { type: "submit", class: "main" }, "Rename"),
    ),
    others.length > 0
      ? make(
          "form",
          { submit: (event) => run(event, { action: "merge_classes", from: id, into: Number(into.value) }, `Merged into ${className(Number(into.value))}.`) },
          make("label", {}, "Merge into", into),
          make("button", { type: "submit" }, "Merge"),
        )
      : null,
    make("form", { method: "dialog", class: "end" }, make("button", { type: "submit" }, "Close ", make("kbd", {}, "Esc"))),
  );
  dialog.showModal();
  name.select();
}

/** Open the dialog that labels the row at hand with a class by the first letters of its name. */
export function openChooser(isNew = false) {
  const dialog = byId("choose-dialog");
  const input = make("input", { "aria-label": "Name of the class", placeholder: isNew ? "Name of the first class" : "Name of the class", autocomplete: "off", maxlength: 200, input: () => list() });
  const matches = () => {
    const text = input.value.trim().toLowerCase();
    const starts = (one) => (one.name.toLowerCase().startsWith(text) ? 0 : 1);
    return store.state.classes
      .filter((one) => one.name.toLowerCase().includes(text))
      .sort((one, other) => starts(one) - starts(other));
  };
  const choose = (id) => {
    dialog.close();
    labelRow(id, "key");
  };
  const options = make("ul", { class: "options" });
  const list = () => {
    const name = input.value.trim();
    const found = matches().slice(0, 8);
    const items = found.map(({ id, name: text }) => make("button", { type: "button", class: "link", click: () => choose(id) }, mark(id), text));
    const isKnown = store.state.classes.some((one) => one.name === name);
    if (name && !isKnown) items.push(make("button", { type: "button", class: "link", click: create }, `Add the class “${name}”`));
    replace(options, items.map((one) => make("li", {}, one)));
  };
  const create = async () => {
    const name = input.value.trim();
    if (!(await decide({ action: "add_class", name }, { text: `Added the class ${name}.`, goesOn: false }))) return;
    dialog.close();
  };
  const submit = (event) => {
    event.preventDefault();
    const [first] = matches();
    if (first) choose(first.id);
    else if (input.value.trim()) create();
  };
  replace(dialog, make("form", { submit }, input, options));
  list();
  dialog.showModal();
}

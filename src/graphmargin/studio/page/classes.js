// The classes with their counts; add, rename and merge; and a class by its name for the keyboard.

import { button, byId, count, make, plural, replace } from "./dom.js";
import { mark } from "./marks.js";
import { labelRow } from "./row.js";
import { className, decide, highlight, on, store } from "./store.js";

const NAME = { name: "name", required: true, maxlength: 200, autocomplete: "off" };

export function startClasses() {
  const list = make("ul");
  const placeholder = "New class";
  const input = make("input", { ...NAME, id: "new-class", placeholder, "aria-label": placeholder });
  const submit = async (event) => {
    event.preventDefault();
    if (await addClass(input.value)) input.value = "";
  };
  const form = make("form.add", { submit }, input, make("button", "Add ", make("kbd", "n")));
  byId("classes").append(make("h2", "Classes"), list, form);
  on("state highlight", () => render(list));
}

function addClass(text) {
  const name = text.trim();
  return decide({ action: "add_class", name }, { text: `Added the class ${name}.`, goesOn: false });
}

function render(list) {
  const { classes } = store.state;
  const numbers = [make("span.number", "labeled"), make("span.number", "predicted")];
  const heads = [make("span.name"), ...numbers, make("span.edit")];
  replace(
    list,
    classes.length > 0
      ? make("li.soft.columns", { "aria-hidden": true }, heads)
      : make("li.empty", "No class yet. Type the name of the first one, such as “yes”."),
    classes.map(line),
  );
}

function line({ id, name, key, labels, predicted }) {
  const bar = make("i.bar");
  bar.style.width = `${(100 * predicted) / store.state.n_rows}%`;
  const numbers = [labels, predicted].map((number) => make("span.number", count(number)));
  const title = `${name}: ${plural(labels, "label")}, ${count(predicted)} predicted. Show alone on the map.`;
  const edit = `Rename or merge ${name}`;
  return make(
    "li",
    button([mark(id), make("span.name", name), key && make("kbd", key), numbers, bar], () => highlight(id), {
      class: "class",
      "aria-pressed": store.highlighted === id,
      "aria-label": title,
      title,
    }),
    button("⋯", () => openEditor(id), { class: "edit", "aria-label": edit, title: edit }),
  );
}

/** Open the dialog that renames a class or merges it into another one. */
function openEditor(id) {
  const dialog = byId("class-dialog");
  const name = make("input", { ...NAME, value: className(id) });
  const others = store.state.classes.filter((one) => one.id !== id);
  const into = make("select", others.map((one) => make("option", { value: one.id }, one.name)));
  const send = (body) => async (event) => {
    event.preventDefault();
    const { text, ...decision } = body();
    if (await decide(decision, { text, goesOn: false })) dialog.close();
  };
  const rename = () => {
    const text = `Renamed to ${name.value.trim()}.`;
    return { action: "rename_class", class: id, name: name.value.trim(), text };
  };
  const merge = () => {
    const text = `Merged into ${className(Number(into.value))}.`;
    return { action: "merge_classes", from: id, into: Number(into.value), text };
  };
  replace(
    dialog,
    make("h2", { id: "class-title" }, mark(id), className(id)),
    make("form", { submit: send(rename) }, make("label", "Name", name), make("button.main", "Rename")),
    others.length > 0
      ? make("form", { submit: send(merge) }, make("label", "Merge into", into), make("button", "Merge"))
      : null,
    make("div.end", button("Close", () => dialog.close(), { key: "Esc" })),
  );
  dialog.showModal();
  name.select();
}

/** Open the dialog that labels the row at hand with a class by its name, and adds a new name. */
export function openChooser() {
  const dialog = byId("choose-dialog");
  const placeholder = "Name of the class";
  const input = make("input", { ...NAME, list: "class-names", placeholder, "aria-label": placeholder });
  const options = store.state.classes.map(({ name }) => make("option", { value: name }));
  const names = make("datalist", { id: "class-names" }, options);
  const submit = async (event) => {
    event.preventDefault();
    const text = input.value.trim().toLowerCase();
    const matches = store.state.classes.filter(({ name }) => name.toLowerCase().startsWith(text));
    const chosen = matches.find(({ name }) => name.toLowerCase() === text) ?? matches[0];
    if (chosen) labelRow(chosen.id, "key");
    else await addClass(input.value);
    dialog.close();
  };
  const note = make("p.soft", "The first letters are enough. An unknown name adds a class.");
  replace(dialog, make("form", { submit }, input, names, make("button.main", "Choose")), note);
  dialog.showModal();
}

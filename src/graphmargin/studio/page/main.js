// Start of the page: header, tabs, notices and export; each other part has a module of its own.

import { ApiError, getObjectUrl, logIn, postJson } from "./api.js";
import { startClasses } from "./classes.js";
import { button, byId, count, make, replace } from "./dom.js";
import { startEstimate } from "./estimate.js";
import { startKeys, undo } from "./keys.js";
import { startMap } from "./map.js";
import { startRow } from "./row.js";
import { emit, on, say, start, store } from "./store.js";
import { startTable } from "./table.js";

function startHeader() {
  on("table", () => {
    const { name, target, notes } = store.table;
    document.title = `${name}: graphmargin studio`;
    replace(byId("table-name"), name, make("span.soft", ` ${target}`));
    replace(byId("notices"), notes.map((text) => notice(text)));
  });
  on("state", () => {
    const { n_labels: labels, n_rows: rows, can_undo: undone, can_redo: redone } = store.state;
    replace(byId("progress"), `${count(labels)} of ${count(rows)}`, make("span", " rows labeled"));
    for (const [id, text] of [["undo", undone], ["redo", redone]]) {
      byId(id).disabled = text === null;
      byId(id).title = text ?? "";
    }
  });
  byId("undo").addEventListener("click", () => undo("undo"));
  byId("redo").addEventListener("click", () => undo("redo"));
  byId("export-menu").addEventListener("click", (event) => {
    const what = event.target.closest("button")?.dataset.what;
    if (what) exportFile(what);
  });
}

const EXISTS = 409; // status of an export whose file exists

async function exportFile(what, mayReplace = false) {
  byId("export-menu").hidePopover();
  say("Writing the file: all labels are used to fit the final model.");
  try {
    const answer = await postJson("/api/export", { what, replace: mayReplace });
    say(`Wrote ${answer.file} beside the table.`, button("Download", () => download(answer)));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === EXISTS) askToReplace(error.message, what);
    else say(error.message);
  }
}

/** Ask whether an export may replace a file that the session has not written. */
function askToReplace(text, what) {
  const dialog = byId("replace-dialog");
  const replaceFile = () => {
    dialog.close();
    exportFile(what, true);
  };
  replace(
    dialog,
    make("h2", { id: "replace-title" }, "Replace the file?"),
    make("p", text),
    make("div.end", button("Replace", replaceFile), button("Keep it", () => dialog.close(), { class: "main", key: "Esc" })),
  );
  dialog.showModal();
}

async function download({ file, download: path }) {
  try {
    const href = await getObjectUrl(path);
    make("a", { href, download: file }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60000);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    say(error.message);
  }
}

function notice(text, kind = "") {
  const box = make("div", { class: `notice ${kind}` }, make("span", text));
  if (!kind) box.append(button("×", () => box.remove(), { "aria-label": "Dismiss" }));
  return box;
}

const CONNECTIONS = {
  gone:
    "The server does not answer. All decisions are saved. Start graphmargin studio again in the " +
    "terminal; this page tries again by itself.",
  locked:
    "The server was started again and has a new address. Open the address that it printed in the " +
    "terminal; all decisions are there.",
};

function startConnection() {
  let box = null;
  on("connection", () => {
    box?.remove();
    box = null;
    const text = CONNECTIONS[store.connection];
    if (text) byId("notices").append((box = notice(text, "gone")));
    else say("The server is back.");
  });
}

function startSaid() {
  let timer = 0;
  on("said", (text, link) => {
    const said = byId("said");
    replace(said, text, link ? [" ", link] : null);
    said.classList.add("fresh");
    clearTimeout(timer);
    timer = setTimeout(() => said.classList.remove("fresh"), link ? 20000 : 5000);
  });
}

/** Follow the system's colors until the person chooses others. */
function startTheme() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const apply = () => {
    const chosen = localStorage.getItem("studio-theme");
    if (chosen) root.dataset.theme = chosen;
    byId("theme").setAttribute("aria-pressed", chosen ? chosen === "dark" : system.matches);
    emit("theme");
  };
  system.addEventListener("change", apply);
  byId("theme").addEventListener("click", () => {
    const isDark = byId("theme").getAttribute("aria-pressed") === "true";
    localStorage.setItem("studio-theme", isDark ? "light" : "dark");
    apply();
  });
  apply();
}

function startTabs() {
  const buttons = document.querySelectorAll("#tabs button");
  const mark = () => {
    for (const one of buttons) {
      if (one.dataset.tab === document.body.dataset.tab) one.setAttribute("aria-current", "page");
      else one.removeAttribute("aria-current");
    }
  };
  for (const one of buttons) one.addEventListener("click", () => (document.body.dataset.tab = one.dataset.tab));
  new MutationObserver(mark).observe(document.body, { attributeFilter: ["data-tab"] });
  mark();
}

for (const part of [startTheme, startHeader, startConnection, startSaid, startTabs, startMap, startRow]) part();
for (const part of [startClasses, startEstimate, startTable, startKeys]) part();

// A new address in the same tab differs after "#" alone, so that the browser does not load it.
addEventListener("hashchange", () => location.reload());

logIn().then(start).catch((error) => {
  byId("notices").append(notice(error.message, "gone"));
});

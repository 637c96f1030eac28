// What the page knows: the table, the state, a label and a prediction for each row, and the row at
// hand. Views subscribe to topics; all changes of the session go through `decide`.

import { ApiError, getBytes, getJson, listen, postJson } from "./api.js";

export const UNSURE = 1;
export const SKIPPED = 2;
export const QUESTION = 4;
export const NO_CLASS = -1; // classes and rows are counted from 0, as in the server
const NO_CLASS_BYTE = 255;

export const store = {
  table: null, // answer of /api/table
  state: null, // answer of /api/state
  labels: new Int16Array(0), // class of each row
  predicted: new Int16Array(0), // the label, or else the class that is predicted
  confidence: new Uint8Array(0), // 255 is certain
  flags: new Uint8Array(0),
  row: null, // row at hand
  details: null, // answer of /api/rows/<row> on it
  highlighted: NO_CLASS, // class that the map shows alone
  connection: "open",
  isBusy: false, // a decision is on its way
};

const listeners = new Map();

/** Call a function on a topic: "table", "state", "model", "predictions", "row", "highlight", "busy", ... */
export function on(topics, listener) {
  for (const topic of topics.split(" ")) {
    listeners.set(topic, [...(listeners.get(topic) ?? []), listener]);
  }
}

export function emit(topic, ...parts) {
  for (const listener of listeners.get(topic) ?? []) listener(...parts);
}

/** Show a sentence, and have it read out; a button may follow it. */
export const say = (text, link = null) => emit("said", text, link);

export const classOf = (id) => store.state?.classes.find((one) => one.id === id);
export const className = (id) => classOf(id)?.name ?? "no class";
export const isLabeled = (row) => store.labels[row] !== NO_CLASS;
export const questionOn = (row) => store.state?.questions.find((one) => one.row === row);

export async function start() {
  store.table = await getJson("/api/table");
  const { rows } = store.table;
  for (const name of ["labels", "predicted"]) store[name] = new Int16Array(rows).fill(NO_CLASS);
  for (const name of ["confidence", "flags"]) store[name] = new Uint8Array(rows);
  await refresh();
  emit("table");
  showNext();
  listen(
    (version) => version !== store.state.version && refresh(),
    (connection) => {
      const isBack = connection === "open" && store.connection !== "open";
      if (connection !== store.connection) {
        store.connection = connection;
        emit("connection");
      }
      if (isBack) refresh();
    },
  );
}

let isRefreshing = false;
let isStale = false;

/** Ask for the state and for the rows that changed; calls during an answer become one more. */
async function refresh() {
  isStale = true;
  if (isRefreshing) return;
  isRefreshing = true;
  try {
    while (isStale) {
      isStale = false;
      const state = await getJson("/api/state");
      await takeState(state);
    }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  } finally {
    isRefreshing = false;
  }
}

let applied = Promise.resolve();

/** Take over states one after the other: those of decisions, and those that events announce. */
function takeState(state) {
  applied = applied.catch(() => {}).then(() => applyState(state));
  return applied;
}

async function applyState(state) {
  if (store.state && state.version < store.state.version) return;
  const wasUndecided = store.row !== null && isUndecided(store.row);
  const isNew = store.state === null || contentOf(state) !== contentOf(store.state);
  store.state = state;
  emit("model");
  if (!isNew) return;
  await updatePredictions();
  emit("state");
  if (store.row !== null) {
    // Another window decided on the row at hand: it needs no second decision.
    if (wasUndecided && !isUndecided(store.row) && !store.isBusy) showNext();
    else if (!store.isBusy) loadDetails();
  }
}

/** Return all that views draw, without the progress of a fit, which changes many times a second. */
const contentOf = (state) => JSON.stringify({ ...state, version: 0, model: state.model.shown });

const isUndecided = (row) => !isLabeled(row) && !(store.flags[row] & (UNSURE | SKIPPED));

let predictionsVersion = null;

async function updatePredictions() {
  const since = predictionsVersion === null ? "" : `?since=${predictionsVersion}`;
  const { bytes, headers } = await getBytes(`/api/predictions${since}`);
  const isFull = !since || headers.has("X-Full");
  const parts = new Uint8Array(bytes);
  const view = new DataView(bytes);
  const step = isFull ? 4 : 8;
  const classAt = (at) => (parts[at] === NO_CLASS_BYTE ? NO_CLASS : parts[at]);
  for (let at = 0; at < parts.length; at += step) {
    const row = isFull ? at / 4 : view.getUint32(at, true);
    const cell = isFull ? at : at + 4;
    store.labels[row] = classAt(cell);
    store.predicted[row] = classAt(cell + 1);
    store.confidence[row] = parts[cell + 2];
    store.flags[row] = parts[cell + 3];
  }
  predictionsVersion = headers.get("X-Version");
  if (parts.length > 0) emit("predictions");
}

/** Send a decision, take over its result, and go on to the next row if the decision asks for it. */
export async function decide(body, { text = null, goesOn = true } = {}) {
  if (store.isBusy) return false;
  store.isBusy = true;
  emit("busy");
  try {
    const { state, row } = await postJson("/api/decisions", body);
    await takeState(state);
    if (goesOn) show(row ?? store.row);
    else loadDetails();
    if (text) say(text);
    return true;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    say(error.message);
    return false;
  } finally {
    store.isBusy = false;
    emit("busy");
  }
}

/** Send any other request; its answer may hold a state. A failure is said. */
export async function command(path, body = {}) {
  try {
    const answer = await postJson(path, body);
    if (answer.state) await takeState(answer.state);
    return answer;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    say(error.message);
    return null;
  }
}

/** Make a row the row at hand. */
export function show(row) {
  if (row === store.row) return loadDetails();
  store.row = row;
  store.details = null;
  emit("row");
  return loadDetails();
}

/** Make a row the row at hand because the person asked for it, also where panels are tabs. */
export function visit(row) {
  document.body.dataset.tab = "row";
  return show(row);
}

function showNext() {
  return show(store.state.queue[0]?.row ?? store.row ?? 0);
}

/** Go through the queue; a row that is not in it leads to its beginning. */
export function step(by) {
  const rows = store.state.queue.map((one) => one.row);
  const at = rows.indexOf(store.row);
  const next = at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + by));
  if (rows.length > 0) show(rows[next]);
}

async function loadDetails() {
  const { row } = store;
  if (row === null) return;
  try {
    const details = await getJson(`/api/rows/${row}`);
    if (row !== store.row) return; // the person is faster than the answer
    store.details = details;
    emit("row");
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status !== 0) say(error.message);
  }
}

/** Show the rows of one class alone, or all again. */
export function highlight(id) {
  store.highlighted = store.highlighted === id ? NO_CLASS : id;
  emit("highlight");
}

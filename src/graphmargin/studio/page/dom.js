// Elements made from data. Texts become text nodes, so that no cell or name is read as HTML.

export const byId = (id) => document.getElementById(id);

/**
 * Return an element: make("p.soft", { title: "..." }, "text", other).
 *
 * Attributes may be left out. Functions among them are listeners, by the name of the event.
 */
export function make(name, ...parts) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag);
  if (classes.length > 0) element.className = classes.join(" ");
  return fill(element, parts);
}

/** Return an SVG element, as `make` does. */
export function draw(tag, ...parts) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), parts);
}

/** Return a button with its key beside its text. */
export function button(text, click, { key = null, ...attributes } = {}) {
  return make("button", { type: "button", click, ...attributes }, text, key && [" ", make("kbd", key)]);
}

function fill(element, [first, ...others]) {
  const hasAttributes = first?.constructor === Object;
  for (const [name, value] of Object.entries(hasAttributes ? first : {})) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name.startsWith("aria-")) element.setAttribute(name, String(value));
    else if (value !== false && value !== null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...present(hasAttributes ? others : [first, ...others]));
  return element;
}

const present = (children) => children.flat(Infinity).filter((child) => child !== null && child !== undefined);

/** Replace the content of an element; absent children are left out. */
export function replace(element, ...children) {
  element.replaceChildren(...present(children));
}

export const count = (number) => number.toLocaleString("en");
export const percent = (share) => `${Math.round(100 * share)}%`;

/** Return an estimated share as text: it is never 0% or 100%, and has a decimal near to them. */
export function estimated(share) {
  const value = 100 * Math.min(Math.max(share, 0.001), 0.999);
  return `${value.toFixed(value < 1 || value > 99 ? 1 : 0)}%`;
}
export const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

/** Rows are counted from 0 in the protocol and from 1 for people, as the commands do. */
export const rowNumber = (row) => count(row + 1);
export const rowName = (row) => `row ${rowNumber(row)}`;
export const RowName = (row) => `Row ${rowNumber(row)}`;

/** Return a function that calls another one once, after the calls to it have paused. */
export function debounce(call, milliseconds) {
  let timer = 0;
  return (...parts) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...parts), milliseconds);
  };
}

// Elements made from data. Texts become text nodes, so that no cell or name is read as HTML.

export const byId = (id) => document.getElementById(id);

const SVG = "http://www.w3.org/2000/svg";

/** Return an element with attributes, listeners (functions, by event name) and children. */
export function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Return an SVG element, as `make` does. */
export function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name.startsWith("aria-")) element.setAttribute(name, String(value));
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...present(children));
  return element;
}

const present = (children) => children.flat(2).filter((child) => child !== null && child !== undefined);

/** Replace the content of an element; absent children are left out. */
export function replace(element, ...children) {
  element.replaceChildren(...present(children));
}

export const count = (number) => number.toLocaleString("en");
export const percent = (share) => `${Math.round(100 * share)}%`;
export const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

/** Rows are counted from 0 in the protocol and from 1 for people, as the commands do. */
export const rowName = (row) => `row ${count(row + 1)}`;

/** Return a function that calls another one once, after the calls to it have paused. */
export function debounce(call, milliseconds) {
  let timer = 0;
  return (...parts) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...parts), milliseconds);
  };
}

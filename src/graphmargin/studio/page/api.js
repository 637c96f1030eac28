// Requests to the server. Every failure is an ApiError with a sentence for the person.

const GONE = "The server does not answer.";

export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status; // 0: no answer at all
  }
}

async function request(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", cache: "no-store", ...options });
  } catch {
    throw new ApiError(GONE, 0);
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  const error = body.error ?? `the server answered with status ${response.status}`;
  throw new ApiError(`${error[0].toUpperCase()}${error.slice(1)}.`, response.status);
}

export async function getJson(path) {
  return (await request(path)).json();
}

/** Return the bytes of an answer, and its headers. */
export async function getBytes(path) {
  const response = await request(path);
  return { bytes: await response.arrayBuffer(), headers: response.headers };
}

export async function postJson(path, body = {}) {
  const headers = { "Content-Type": "application/json", "X-Studio": "1" };
  return (await request(path, { method: "POST", headers, body: JSON.stringify(body) })).json();
}

/**
 * Listen to the server for as long as the page lives.
 *
 * `onVersion` gets the version after every change; `onConnection` gets "open", "gone" (the server
 * does not answer) or "locked" (another server answers, which has another token).
 */
export function listen(onVersion, onConnection) {
  const source = new EventSource("/api/events");
  source.addEventListener("open", () => onConnection("open"));
  source.addEventListener("state", (event) => onVersion(JSON.parse(event.data).version));
  source.addEventListener("error", async () => {
    source.close(); // browsers differ in when they try again, so the page does it itself
    const isLocked = await getJson("/api/state").then(() => false, (error) => error.status !== 0);
    onConnection(isLocked ? "locked" : "gone");
    setTimeout(() => listen(onVersion, onConnection), 1500);
  });
}

// Requests to the server. Every failure is an ApiError with a sentence for the person.

const GONE = "The server does not answer.";

export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status; // 0: no answer at all
  }
}

// Other servers on this machine cannot read the storage of this page, as they could a cookie.
const SECRET = "studio-secret";

/** Exchange the token in the address, which works once, for the secret of all requests. */
export async function logIn() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return;
  history.replaceState(null, "", location.pathname);
  try {
    localStorage.setItem(SECRET, (await postJson("/api/login", { token })).secret);
  } catch (error) {
    if (error.status !== 401) throw error; // a used address is right if the page has the secret
  }
}

async function request(path, { headers = {}, ...options } = {}) {
  let response;
  try {
    const all = { "X-Studio": localStorage.getItem(SECRET) ?? "none", ...headers };
    response = await fetch(path, { credentials: "omit", cache: "no-store", headers: all, ...options });
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
  const headers = { "Content-Type": "application/json" };
  return (await request(path, { method: "POST", headers, body: JSON.stringify(body) })).json();
}

/** Return an answer as a URL for an image or a download; neither can send the secret itself. */
export async function getObjectUrl(path) {
  return URL.createObjectURL(await (await request(path)).blob());
}

const RETRY_MS = 1500;

/**
 * Listen to the server for as long as the page lives.
 *
 * `onVersion` gets the version after every change; `onConnection` gets "open", "gone" (the server
 * does not answer) or "locked" (another server answers, which has another secret).
 */
export async function listen(onVersion, onConnection) {
  for (;;) {
    try {
      const { body } = await request("/api/events");
      onConnection("open");
      await readEvents(body, onVersion);
      onConnection("gone");
    } catch (error) {
      onConnection(error.status > 0 ? "locked" : "gone");
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

async function readEvents(body, onVersion) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (text + value).split("\n\n");
    text = events.pop();
    for (const event of events) {
      const data = event.match(/^data: (.*)$/m);
      if (data) onVersion(JSON.parse(data[1]).version);
    }
  }
}

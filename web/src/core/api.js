// api.js - the REST API, as any integrator would call it.
import { apiKey } from "./prefs.js";

export const ROOT = "/api/v1";

const PATIENCE_MS = 20000;
const WAITING_MS = 90000; // with ?wait the server may take a minute
const UPLOAD_MS = 30 * 60000;

/* AbortSignal.any() is younger than the browsers we build for. */
function either(a, b) {
  const both = new AbortController();
  for (const one of [a, b]) {
    if (one.aborted) both.abort();
    else one.addEventListener("abort", () => both.abort(), { once: true });
  }
  return both.signal;
}

const patience = (path) => (path.includes("wait=") ? WAITING_MS : PATIENCE_MS);

/* A refusal: `code` for machines, `message` for people, `status` 0 when nobody answered. */
export class ApiError extends Error {
  constructor(status, code, message, more = {}) {
    super(message);
    Object.assign(this, { status, code, ...more });
  }
}

const denied = new Set();

/* Call `fn` whenever the server says that a key is needed or is not good any more. */
export function onUnauthorized(fn) {
  denied.add(fn);
  return () => denied.delete(fn);
}

export function headers(more) {
  const key = apiKey();
  return key ? { Authorization: `Bearer ${key}`, ...more } : { ...more };
}

async function refusal(answer) {
  let body = {};
  let findings;
  try {
    const whole = await answer.json();
    body = whole.error ?? {};
    findings = whole.findings;
  } catch {
    // not ours: a proxy's page, or nothing
  }
  if (answer.status === 401) for (const fn of denied) fn();
  return new ApiError(answer.status, body.code ?? `http_${answer.status}`,
    body.message ?? `${answer.status} ${answer.statusText}`,
    { field: body.field, findings, after: Number(answer.headers.get("Retry-After")) || 0 });
}

/* A request that is given up by `signal` throws AbortError; one that nobody answers in time, ApiError. */
async function send(path, init, timeout = PATIENCE_MS) {
  let answer;
  const clock = AbortSignal.timeout(timeout);
  const signal = init.signal ? either(init.signal, clock) : clock;
  try {
    answer = await fetch(ROOT + path, { ...init, signal, cache: "no-store", credentials: "omit" });
  } catch (err) {
    if (err.name === "AbortError" && init.signal?.aborted) throw err;
    throw new ApiError(0, "unreachable", "");
  }
  if (!answer.ok) throw await refusal(answer);
  return answer;
}

export async function get(path, signal) {
  return (await send(path, { headers: headers(), signal }, patience(path))).json();
}

export async function getText(path, signal) {
  return (await send(path, { headers: headers(), signal })).text();
}

export async function post(path, body, signal) {
  const init = { method: "POST", headers: headers(), signal };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers["Content-Type"] = "application/json";
  }
  return (await send(path, init, patience(path))).json();
}

export async function putFile(path, file) {
  const init = { method: "PUT", headers: headers({ "Content-Type": "application/zip" }), body: file };
  return (await send(path, init, UPLOAD_MS)).json();
}

/* "?a=1&b=2" of what is not empty; arrays repeat the name. */
export function query(params) {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    for (const one of [value].flat()) if (one !== undefined && one !== null && one !== "") q.append(name, one);
  }
  const text = q.toString();
  return text ? `?${text}` : "";
}

export const seg = encodeURIComponent;

// api.js - the REST API, as any integrator would call it.
import { apiKey } from "./prefs.js";

export const ROOT = "/api/v1";

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
  try {
    body = (await answer.json()).error ?? {};
  } catch {
    // not ours: a proxy's page, or nothing
  }
  if (answer.status === 401) for (const fn of denied) fn();
  return new ApiError(answer.status, body.code ?? `http_${answer.status}`,
    body.message ?? `${answer.status} ${answer.statusText}`,
    { field: body.field, findings: body.findings, after: Number(answer.headers.get("Retry-After")) || 0 });
}

async function send(path, init) {
  let answer;
  try {
    answer = await fetch(ROOT + path, { ...init, cache: "no-store", credentials: "omit" });
  } catch (err) {
    if (err.name === "AbortError") throw err;
    throw new ApiError(0, "unreachable", "");
  }
  if (!answer.ok) throw await refusal(answer);
  return answer;
}

export async function get(path, signal) {
  return (await send(path, { headers: headers(), signal })).json();
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
  return (await send(path, init)).json();
}

export async function putFile(path, file) {
  const init = { method: "PUT", headers: headers({ "Content-Type": "application/zip" }), body: file };
  return (await send(path, init)).json();
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

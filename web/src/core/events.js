// events.js - the server's events, and what to do when they do not come.
//
// Read with fetch() and not EventSource, which cannot send the key. The stream resumes behind the
// last event it saw; when the server cannot be reached it is tried again, ever slower up to 5 s; when
// the server answers but the stream stays silent (a proxy that buffers), pages are told to poll. A tab that
// nobody looks at lets its connection go, because a browser has only six for one host.
import { headers, ROOT } from "./api.js";

const SILENT_MS = 6000; // the server sends `stats` every second to a listener
const STALE_MS = 40000; // and a comment every 15 s whatever happens
const POLL_MS = 2000;
const HIDDEN_MS = 30000;
const RETRY_STREAM_MS = 20000; // while polling

const listeners = new Set();
let state = "off"; // off, connecting, live, polling, down
let lastId = null;
let abort = null;
let failures = 0;
let timer = 0;
let pollTimer = 0;
let hiddenTimer = 0;
let running = false;

/* fn(event): {type, ...}. Besides the server's there are `connection` {state}, and `refresh`: read again
 * what you show, because something may have been missed. Returns the function that ends it. */
export function listen(fn) {
  listeners.add(fn);
  return () => listeners.delete(fn);
}

export const connectionState = () => state;

function tell(event) {
  for (const fn of listeners) fn(event);
}

function become(next) {
  if (next === state) return;
  state = next;
  tell({ type: "connection", state });
}

/* Split a stream of bytes into server-sent events; feed() calls back for each. */
export function parser(onEvent) {
  const decoder = new TextDecoder();
  let rest = "";
  let event = { type: "message", data: [] };
  return (bytes) => {
    rest += decoder.decode(bytes, { stream: true });
    const lines = rest.split("\n");
    rest = lines.pop();
    for (let line of lines) {
      if (line.endsWith("\r")) line = line.slice(0, -1);
      if (line === "") {
        if (event.data.length) onEvent({ ...event, data: event.data.join("\n") });
        event = { type: "message", data: [] };
        continue;
      }
      const at = line.indexOf(":");
      const name = at < 0 ? line : line.slice(0, at);
      const value = at < 0 ? "" : line.slice(at + 1).replace(/^ /, "");
      if (name === "data") event.data.push(value);
      else if (name === "event") event.type = value;
      else if (name === "id") event.id = value;
    }
  };
}

function received(message) {
  if (message.id) lastId = message.id;
  let body;
  try {
    body = JSON.parse(message.data);
  } catch {
    return;
  }
  if (message.type === "reset") {
    lastId = null;
    tell({ type: "refresh" });
    return;
  }
  tell({ ...body, type: message.type });
}

async function read(body, mine) {
  const reader = body.getReader();
  const feed = parser(received);
  let heard = false;
  const patience = () => setTimeout(() => mine.abort(), heard ? STALE_MS : SILENT_MS);
  let watch = patience();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return heard;
      clearTimeout(watch);
      if (!heard) opened();
      heard = true;
      watch = patience();
      feed(value);
    }
  } catch {
    return heard;
  } finally {
    clearTimeout(watch);
  }
}

function opened() {
  failures = 0;
  stopPolling();
  const resumed = lastId !== null;
  become("live");
  /* Progress and judges' states have no number to resume behind, so look once in any case. */
  tell({ type: "refresh", resumed });
}

function startPolling() {
  become("polling");
  if (!pollTimer) pollTimer = setInterval(() => tell({ type: "refresh" }), POLL_MS);
}

function stopPolling() {
  clearInterval(pollTimer);
  pollTimer = 0;
}

function again(ms) {
  clearTimeout(timer);
  timer = setTimeout(connect, ms);
}

/* Does the server answer anything, when not the stream? */
async function answers() {
  try {
    return (await fetch(`${ROOT}/whoami`, { headers: headers(), cache: "no-store", credentials: "omit" })).ok;
  } catch {
    return false;
  }
}

async function connect() {
  if (!running) return;
  abort?.abort();
  const mine = (abort = new AbortController());
  if (state !== "polling" && state !== "down") become("connecting");
  let answer = null;
  try {
    answer = await fetch(`${ROOT}/events`, {
      headers: headers({ Accept: "text/event-stream", ...(lastId ? { "Last-Event-ID": lastId } : {}) }),
      signal: mine.signal,
      cache: "no-store",
      credentials: "omit",
    });
  } catch {
    // nobody there
  }
  if (mine !== abort || !running) return;
  if (answer?.status === 401 || answer?.status === 403) {
    startPolling(); // this key may not listen
    return;
  }
  if (answer?.ok && answer.body) {
    const heard = await read(answer.body, mine);
    if (mine !== abort || !running) return;
    if (heard) {
      become("down");
      again(200 + 300 * Math.random());
    } else {
      startPolling();
      again(RETRY_STREAM_MS);
    }
    return;
  }
  failures++;
  const there = answer !== null || await answers();
  if (mine !== abort || !running) return;
  if (there) startPolling();
  else {
    stopPolling();
    become("down");
  }
  again(Math.min(5000, 250 * 2 ** Math.min(failures, 5)) * (0.7 + 0.6 * Math.random()));
}

export function start() {
  if (running) return;
  running = true;
  failures = 0;
  connect();
}

export function stop() {
  running = false;
  clearTimeout(timer);
  stopPolling();
  abort?.abort();
  abort = null;
  become("off");
}

/* A new key: what was seen with the old one says nothing. */
export function restart() {
  stop();
  lastId = null;
  start();
}

/* A page that is left keeps no connection, even when the browser keeps it to go back to. */
addEventListener("pagehide", () => {
  if (running) {
    stop();
    hiddenTimer = -1;
  }
});
addEventListener("pageshow", (event) => {
  if (event.persisted && hiddenTimer === -1) {
    hiddenTimer = 0;
    start();
  }
});

document.addEventListener("visibilitychange", () => {
  clearTimeout(hiddenTimer);
  if (document.hidden) {
    hiddenTimer = setTimeout(() => {
      if (running) {
        stop();
        hiddenTimer = -1;
      }
    }, HIDDEN_MS);
  } else if (hiddenTimer === -1) {
    hiddenTimer = 0;
    start();
  }
});

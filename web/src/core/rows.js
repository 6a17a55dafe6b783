// rows.js - submissions as lists show them, kept current by events.
//
// A row is the API's Summary with two members more: `stage` while it is judged, and `strip`, one letter
// per test in order ("AAAWS.."): the first letter of its verdict, S not run, "." not there yet.

const LETTERS = { AC: "A", WA: "W", TLE: "T", MLE: "M", OLE: "O", RTE: "R", CE: "C", JE: "J", SK: "S" };
const VERDICTS = Object.fromEntries(Object.entries(LETTERS).map(([verdict, letter]) => [letter, verdict]));
const TESTS_MAX = 1000;

export const letterOf = (status) => LETTERS[status] ?? "J";
export const verdictOf = (letter) => VERDICTS[letter] ?? null;

export const FINAL = new Set(["FINISHED", "DLQ", "CANCELLED"]);

/* The strip of a whole list of cases */
export function stripOf(cases, total = cases?.length ?? 0) {
  const out = new Array(Math.min(TESTS_MAX, total)).fill(".");
  for (const one of cases ?? []) if (one.id >= 1 && one.id <= TESTS_MAX) out[one.id - 1] = letterOf(one.status);
  return Array.from(out, (letter) => letter ?? ".").join("");
}

function fill(strip = "", cases = [], total = 0) {
  const out = strip.padEnd(Math.min(TESTS_MAX, total), ".").split("");
  for (const one of cases) if (one.id >= 1 && one.id <= out.length) out[one.id - 1] = letterOf(one.status);
  return out.join("");
}

function started(row, event) {
  return { ...row, started_at: event.timestamp, finished_at: undefined, stage: "preparing", strip: "", done: 0 };
}

/* `row` (may be undefined) after `event`; the same object when nothing changed. */
export function after(row, event) {
  const base = row ?? { submit_id: event.submit_id, status: "PENDING", created_at: event.timestamp };
  const about = { ...base };
  for (const name of ["problem", "language", "user", "worker_id", "generation"]) {
    if (event[name] !== undefined && event[name] !== null) about[name] = event[name];
  }
  switch (event.type) {
    case "status_change": {
      const next = { ...about, status: event.status, verdict: undefined };
      if (event.message) next.error = event.message;
      return event.status === "RUNNING" ? started(next, event) : next;
    }
    case "progress":
      if (FINAL.has(base.status)) return base; // a late one: the verdict is there already
      return { ...about, status: "RUNNING", stage: event.stage, done: event.done, total_test: event.total ?? base.total_test,
        strip: fill(base.strip, event.cases, event.total) };
    case "result": {
      const result = event.result ?? {};
      return { ...about, status: "FINISHED", stage: undefined, verdict: result.verdict, score: event.score,
        time_ms: result.time_ms, memory_kb: result.memory_kb, accepted_test: result.accepted_test,
        total_test: result.total_test, limits: result.limits ?? base.limits, finished_at: event.timestamp,
        strip: ended(base.strip, event.strip, result) };
    }
    default:
      return base;
  }
}

/* Tests without an outcome at the end were not run. A strip that cannot be whole is not shown. */
function ended(seen, sent, result) {
  if (sent) return sent;
  if (result.verdict === "AC") return "A".repeat(Math.min(TESTS_MAX, result.total_test ?? 0));
  const known = (seen ?? "").replace(/\./g, "S");
  return /[WTMORJ]/.test(known) ? known : undefined;
}

/* A list by id with a ceiling, newest first. */
export class Rows {
  constructor(max) {
    this.max = max;
    this.map = new Map();
  }

  /* The server's page of the list: takes the place of what we had, but keeps strips that we saw. */
  load(list) {
    const old = this.map;
    this.map = new Map();
    for (const row of list.slice(0, this.max)) {
      const had = old.get(row.submit_id);
      const keep = had && had.status === row.status && (had.generation ?? 0) === (row.generation ?? 0);
      this.map.set(row.submit_id, keep ? { ...row, strip: row.strip ?? had.strip, stage: had.stage, done: had.done,
        limits: row.limits ?? had.limits, accepted_test: row.accepted_test ?? had.accepted_test,
        total_test: row.total_test ?? had.total_test } : row);
    }
  }

  /* True when something changed. */
  apply(event) {
    if (!event.submit_id || !["status_change", "progress", "result"].includes(event.type)) return false;
    const had = this.map.get(event.submit_id);
    if (had) {
      this.map.set(event.submit_id, after(had, event));
      return true;
    }
    if (event.type === "progress" && !event.problem) return false; // too little to show
    this.map = new Map([[event.submit_id, after(undefined, event)], ...this.map]);
    if (this.map.size > this.max) this.map.delete([...this.map.keys()].pop());
    return true;
  }

  list() {
    return [...this.map.values()];
  }
}

// rows.js - submissions as lists show them, kept current by events.
//
// A row is the API's Summary with what belongs to the present on one level: `stage`, `done`, `total_test` and
// `strip` while it is judged, `limits` as results have them. `strip` has one letter per test in order
// ("AAAWS.."): the first letter of its verdict, S not run, "." not there yet.

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

/* `strip` with the outcomes of `cases` put in */
export function fill(strip = "", cases = [], total = 0) {
  const out = strip.padEnd(Math.min(TESTS_MAX, total), ".").split("");
  for (const one of cases) if (one.id >= 1 && one.id <= out.length) out[one.id - 1] = letterOf(one.status);
  return out.join("");
}

/* A row as the API gives it. */
export function rowOf({ time_limit_ms, memory_limit_kb, progress, ...row }) {
  if (time_limit_ms) row.limits = { time_ms: time_limit_ms, memory_kb: memory_limit_kb };
  if (progress) Object.assign(row, { stage: progress.stage, done: progress.done, total_test: progress.total, strip: progress.strip ?? "" });
  return row;
}

/* What a program used; one that was never run used nothing, which is not 0. */
export const ran = (row, value) => (row.verdict === "CE" ? undefined : value);

function started(row, event) {
  return { ...row, started_at: event.timestamp, finished_at: undefined, stage: "preparing", strip: "", done: 0 };
}

/* The event of a submission that has just come: the only one that says when, and who sent it. */
export const isFirst = (event) => event.type === "status_change" && event.status === "PENDING" && !event.generation && !event.message;

/* `row` (may be undefined) after `event`; the same object when nothing changed. */
export function after(row, event) {
  const base = row ?? { submit_id: event.submit_id, status: "PENDING", created_at: isFirst(event) ? event.timestamp : undefined };
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
        strip: ended(base.strip, result) };
    }
    default:
      return base;
  }
}

/* Tests without an outcome at the end were not run. A strip that cannot be whole is not shown. */
function ended(seen, result) {
  if (result.strip) return result.strip;
  if (result.verdict === "AC") return "A".repeat(Math.min(TESTS_MAX, result.total_test ?? 0));
  const known = (seen ?? "").replace(/\./g, "S");
  return /[WTMORJ]/.test(known) ? known : undefined;
}

const progressOf = ({ stage, done, total_test, strip }) => ({ stage, done, total_test, strip });

/* A list by id with a ceiling, newest first. */
export class Rows {
  constructor(max) {
    this.max = max;
    this.map = new Map();
  }

  /* The server's page of the list: takes the place of what we had, but keeps tests that we saw. */
  load(list) {
    const old = this.map;
    this.map = new Map();
    for (const one of list.slice(0, this.max)) {
      const row = rowOf(one);
      const had = old.get(row.submit_id);
      const same = had && had.status === row.status && (had.generation ?? 0) === (row.generation ?? 0);
      const ahead = same && (had.done ?? 0) > (row.done ?? 0); // events are quicker than readings
      this.map.set(row.submit_id, !same ? row : ahead ? { ...row, ...progressOf(had) } : { ...progressOf(had), ...row });
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

  /* More about a row that is still there. */
  complete(id, more) {
    const had = this.map.get(id);
    if (had) this.map.set(id, { ...had, ...more });
    return Boolean(had);
  }

  list() {
    return [...this.map.values()];
  }
}

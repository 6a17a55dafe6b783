// health.js - is it healthy, how long until a verdict, and why: the numbers put into one judgement.
//
// Pure functions: what to say is a key of the words and what to fill in; the pages say it.

const LATE_S = 60;

/* Seconds until a submission with `ahead` before it is started; null when nothing can be said. */
export function waitFor(ahead, now) {
  const rate = now?.finished_per_minute ?? 0;
  if (!ahead) return now?.busy < now?.slots ? 0 : typeof now?.wait_p50_ms === "number" ? now.wait_p50_ms / 1000 : null;
  return rate > 0 ? (60 * ahead) / rate : null;
}

const total = (list, name) => list.reduce((sum, one) => sum + (one[name] ?? 0), 0);

/* What keeps work from being done, worst first: {tone, key, n, name, seconds, href}. */
export function troubles(now, queues = [], asides = []) {
  const out = [];
  const waits = queues.filter((one) => one.ready > 0);
  const paused = queues.filter((one) => one.paused);
  const unserved = waits.filter((one) => !one.paused && one.judges === 0);
  const add = (tone, key, href, more) => out.push({ tone, key, href, ...more });
  if (now.judges === 0) add("bad", "nojudge", "/judges", { n: now.pending ?? 0 });
  else if (unserved.length) add("bad", "unserved", "/queues", { n: total(unserved, "ready"), name: unserved[0].language ?? unserved[0].name });
  if (paused.length) add("warn", "paused", "/queues", { n: paused.length, name: paused[0].name });
  if (asides.length) add("warn", "aside", "/queues", { n: asides.length, name: asides[0].name });
  if (now.dead > 0) add("warn", "dead", "/dead-letters", { n: now.dead });
  return out;
}

/* One line for the whole: {tone: ok | warn | bad, key, n, rate, seconds, list of troubles}. */
export function health(now, queues, asides) {
  const list = troubles(now, queues, asides);
  const seconds = waitFor(now.pending, now);
  const full = now.slots > 0 && now.busy >= now.slots;
  const say = (tone, key) => ({ tone, key, n: now.pending ?? 0, seconds, full, list });
  if (list.some((one) => one.tone === "bad")) return say("bad", "stopped");
  if (now.pending > 0 && now.oldest_s > LATE_S) return say("warn", "late");
  if (now.pending > 0) return say("ok", "busy");
  return say("ok", "fine");
}

/* Why a submission that waits is not started, or "" when it only waits for its turn. */
export function held(row, now, queues = [], asides = []) {
  if (asides.some((one) => (one.kind === "problem" ? row.problem : row.language) === one.name)) return "aside";
  if (now?.judges === 0) return "nojudge";
  const mine = queues.filter((one) => one.language === row.language && one.ready > 0);
  if (mine.length && mine.every((one) => one.paused)) return "paused";
  if (mine.length && mine.every((one) => one.judges === 0)) return "unserved";
  return "";
}

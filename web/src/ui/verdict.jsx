// verdict.jsx - verdicts three ways at once: an icon, a word, a colour. Any one of them is enough.
import { has, t } from "../core/i18n.js";
import { verdictOf } from "../core/rows.js";
import { Icon } from "./icons.jsx";

const ICONS = {
  AC: "check", WA: "cross", TLE: "clock", MLE: "memory", OLE: "output", RTE: "bolt", CE: "code", JE: "question",
  SK: "dots", PENDING: "hourglass", RUNNING: "run", SYSTEM_ERROR: "retry", DLQ: "skull", CANCELLED: "ban",
};

/* What a submission is at, as one word: its verdict once there is one. */
export const stateOf = (row) => (row.status === "FINISHED" && row.verdict ? row.verdict : row.status);

export const verdictName = (state) => (has(`verdict.${state}`) ? t(`verdict.${state}`) : state);

function words(row, state) {
  if (state === "RUNNING" && row.stage === "running" && row.total_test) {
    return t("stage.test", { done: Math.min(row.total_test, (row.done ?? 0) + 1), total: row.total_test });
  }
  if (state === "RUNNING" && row.stage) return t(`stage.${row.stage}`);
  return verdictName(state);
}

/* The chip of a submission. */
export function Chip({ row }) {
  const state = stateOf(row);
  return (
    <span class={`chip v-${state}`} title={verdictName(state)}>
      <Icon name={ICONS[state] ?? "question"} />
      <span>{words(row, state)}</span>
    </span>
  );
}

/* The chip of one test or of a filter. */
export function VerdictChip({ verdict, subcode }) {
  return (
    <span class={`chip v-${verdict}`}>
      <Icon name={ICONS[verdict] ?? "question"} />
      <span>
        {verdictName(verdict)}
        {subcode && has(`subcode.${subcode}`) && subcode !== "PC" ? `: ${t(`subcode.${subcode}`)}` : ""}
      </span>
    </span>
  );
}

export function VerdictIcon({ verdict }) {
  return <span class={`vicon v-${verdict}`}><Icon name={ICONS[verdict] ?? "question"} /></span>;
}

/* The worst of a bucket, when there are more tests than room. */
const SEVERITY = ".SAOMTRWJC";

function buckets(strip, max) {
  if (strip.length <= max) return strip.split("");
  const out = [];
  for (let i = 0; i < max; i++) {
    const part = strip.slice(Math.floor((i * strip.length) / max), Math.floor(((i + 1) * strip.length) / max));
    out.push([...part].reduce((a, b) => (SEVERITY.indexOf(b) > SEVERITY.indexOf(a) ? b : a)));
  }
  return out;
}

/* The tests of a submission as a row of cells: low for passed, high for failed, hollow for not run. Takes
 * the same room whatever is in it, so that nothing moves while tests come in. */
export function Strip({ row, max = 20 }) {
  const total = row.total_test ?? row.strip?.length ?? 0;
  const label = row.status === "FINISHED" && total
    ? t("strip.passed", { n: row.accepted_test ?? 0, total })
    : row.status === "RUNNING" && total ? t("strip.running", { n: row.done ?? 0, total }) : "";
  const strip = row.strip ?? (row.verdict === "AC" ? "A".repeat(Math.min(total, 1000)) : undefined);
  if (strip === undefined && row.status === "FINISHED" && row.verdict !== "CE" && total) {
    return (
      <span class="strip" role="img" aria-label={label} title={label}>
        <span class="strip-part" style={{ width: `${(100 * (row.accepted_test ?? 0)) / total}%` }} />
      </span>
    );
  }
  const cells = buckets((strip ?? "").padEnd(Math.min(total, 1000), "."), max);
  return (
    <span class="strip" role={label ? "img" : undefined} aria-label={label || undefined} title={label || undefined}>
      {cells.map((letter, i) => <i key={i} class={letter === "." ? "" : `v-${verdictOf(letter)}`} />)}
    </span>
  );
}

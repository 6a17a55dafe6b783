// timeline.jsx - where the time went: queued, prepared, compiled, tested, stored.
import { Fragment } from "preact";
import * as f from "../core/format.js";
import { has, t } from "../core/i18n.js";
import { FINAL } from "../core/rows.js";
import { Name, Panel } from "../ui/bits.jsx";
import { Icon } from "../ui/icons.jsx";

/* Spans in ms. The judge says how long compiling and the whole judging took; the moments are the controller's. */
export function spans(row, now) {
  const start = f.millis(row.started_at);
  const end = FINAL.has(row.status) ? f.millis(row.finished_at) : now;
  const waited = (isFinite(start) && row.status !== "PENDING" ? start : end) - f.millis(row.created_at);
  const out = [{ name: "queued", ms: waited }];
  if (!isFinite(start) || row.status === "PENDING") return out;
  const judging = end - start;
  const result = row.result;
  if (row.status !== "FINISHED" || !result) {
    out.push({ name: row.stage === "compiling" ? "compile" : row.stage === "running" ? "tests" : "prepare", ms: judging, open: !FINAL.has(row.status) });
    return out;
  }
  const judged = Math.min(judging, result.judged_ms ?? judging);
  const failed = row.verdict === "CE"; // then nothing came after it
  const compile = failed ? judged : result.compile && !result.compile.cached ? Math.min(judged, result.compile.time_ms ?? 0) : 0;
  out.push({ name: "compile", ms: compile, cached: !failed && result.compile?.cached });
  if (!failed) out.push({ name: "tests", ms: judged - compile });
  out.push({ name: "store", ms: judging - judged });
  return out;
}

export function Timeline({ row, now }) {
  const list = spans(row, now).filter((one) => isFinite(one.ms)).map((one) => ({ ...one, ms: Math.max(0, one.ms) }));
  const total = list.reduce((sum, one) => sum + one.ms, 0);
  return (
    <Panel title={t("timeline.title")} id="timeline" side={<span class="num muted">{t("timeline.total")} {f.ms(total)}</span>}>
      <div class="spans" aria-hidden="true">
        {list.map((one) => <i key={one.name} class={`span-${one.name} ${one.open ? "open" : ""}`} style={{ flexGrow: Math.max(one.ms, total / 200) || 1 }} />)}
      </div>
      <ol class="span-list">
        {list.map((one) => (
          <Fragment key={one.name}>
            <li>
              <i class={`span-${one.name}`} aria-hidden="true" />
              <span>{t(`span.${one.name}`)}</span>
              <b class="num">{one.cached ? t("span.cached") : f.ms(one.ms)}</b>
            </li>
            {one.name === "queued" && list.length > 1 && <Mark name="span.leased"><Name value={row.worker_id} max={24} /></Mark>}
          </Fragment>
        ))}
        {FINAL.has(row.status) && <Mark name="span.done"><time class="num" dateTime={row.finished_at}>{f.clock(row.finished_at)}</time></Mark>}
      </ol>
      <Log list={row.timeline} />
    </Panel>
  );
}

/* A moment between two spans. */
function Mark({ name, children }) {
  return <li class="mark"><Icon name="right" /><span>{t(name)}</span> <b>{children}</b></li>;
}

function Log({ list }) {
  if (!list?.length) return null;
  const start = f.millis(list[0].at);
  return (
    <details class="log" open={list.length > 3}>
      <summary>{t("timeline.log", { n: list.length })}</summary>
      <ol>
        {list.map((one, i) => (
          <li key={i}>
            <time class="num" dateTime={one.at} title={f.moment(one.at)}>{f.clock(one.at)}</time>
            <span class="num muted">+{f.ms(f.millis(one.at) - start)}</span>
            <span>{has(`verdict.${one.what}`) ? t(`verdict.${one.what}`) : <Name value={one.what} />}</span>
            {one.worker_id && <Name value={one.worker_id} />}
            {one.message && <span class="grow"><Name value={one.message} max={300} /></span>}
          </li>
        ))}
      </ol>
    </details>
  );
}

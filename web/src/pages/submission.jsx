// submission.jsx - one submission: what happened, when, where and why.
import { useEffect, useRef, useState } from "preact/hooks";
import { post, query, seg } from "../core/api.js";
import { connectionState } from "../core/events.js";
import * as f from "../core/format.js";
import { has, t } from "../core/i18n.js";
import { useApi, useClock, useEvents, useTitle } from "../core/hooks.js";
import { can } from "../core/me.js";
import { FINAL, after, fill, ran, rowOf, stripOf } from "../core/rows.js";
import { Action, Failed, Name, Panel, Skeleton, Text } from "../ui/bits.jsx";
import { ask, attempt } from "../ui/dialogs.jsx";
import { Waiting } from "../ui/health.jsx";
import { Chip, Strip, stateOf, verdictName } from "../ui/verdict.jsx";
import { Timeline } from "./timeline.jsx";
import { Tests } from "./tests.jsx";
import { Files, Source } from "./source.jsx";

/* The submission, current: read at first and at each change, with the tests between from events. */
export function useSubmission(id) {
  const [live, setLive] = useState(null);
  const from = useApi(id ? `/submissions/${seg(id)}?source=1` : null,
    (event) => event.submit_id === id && event.type !== "progress", 150);
  const data = from.data;
  const cases = useRef(new Map());
  useEvents((event) => {
    if (event.submit_id !== id) return;
    if (event.type === "status_change" && event.status === "RUNNING") cases.current = new Map();
    if (event.type === "progress") for (const one of event.cases ?? []) cases.current.set(one.id, one);
    setLive((old) => after(old ?? data ?? undefined, event));
  });
  /* What was read is newer than what was heard before it. */
  useEffect(() => setLive(null), [data]);
  useEffect(() => { cases.current = new Map(); }, [id]);
  usePolling(from, data && !FINAL.has(data.status));

  if (!data) return { from, row: null };
  const row = { ...rowOf(data), ...live };
  const done = FINAL.has(row.status);
  const known = done ? data.result?.cases ?? [] : [...cases.current.values()].sort((a, b) => a.id - b.id);
  const total = data.result?.total_test ?? row.total_test ?? known.length;
  const strip = done ? stripOf(known, total) : fill(row.strip, known, total);
  return { from, row: { ...row, strip, total_test: total, limits: data.result?.limits }, cases: known };
}

/* Without the event stream (a key that may only submit, or a proxy in the way) look every second. */
function usePolling(from, wanted) {
  useEffect(() => {
    if (!wanted) return undefined;
    const timer = setInterval(() => connectionState() === "live" || from.reload(), 1000);
    return () => clearInterval(timer);
  }, [wanted, from.reload]);
}

/* Says a change of state to those who do not see the chip change. */
export function Announce({ row }) {
  const state = row ? stateOf(row) : "";
  const first = useRef(state);
  const [text, set] = useState("");
  useEffect(() => {
    if (state && state !== first.current) set(t("announce", { id: row.submit_id, state: verdictName(state) }));
    first.current = state;
  }, [state]);
  return <div class="sr" role="status" aria-live="polite">{text}</div>;
}

function Actions({ row, reload }) {
  const path = `/submissions/${seg(row.submit_id)}`;
  const cancel = async () => {
    if (await ask({ title: t("cancel.ask"), text: t("cancel.text"), yes: t("cancel.do"), danger: true })) {
      await attempt(() => post(`${path}/cancel`), t("cancel.done"));
      reload();
    }
  };
  const rejudge = async () => {
    if (await ask({ title: t("rejudge.ask"), text: t("rejudge.text"), yes: t("rejudge.do") })) {
      await attempt(() => post(`${path}/rejudge`), t("rejudge.done"));
      reload();
    }
  };
  return (
    <div class="actions">
      {can("submit") && !FINAL.has(row.status) && <Action icon="ban" run={cancel}>{t("cancel.do")}</Action>}
      {can("admin") && FINAL.has(row.status) && row.kind !== "run" && <Action icon="retry" run={rejudge}>{t("rejudge.do")}</Action>}
      <a class="button" href={`/submit${query({ from: row.submit_id, problem: row.problem, language: row.language })}`}>{t("edit")}</a>
    </div>
  );
}

function Fact({ name, children }) {
  return <div><dt>{t(name)}</dt><dd>{children}</dd></div>;
}

function Facts({ row, judge }) {
  const compiler = judge?.languages?.find((one) => one.slug === row.language)?.version;
  const limits = row.limits ?? {};
  const link = (name, value) => (can("read") && value ? <a href={`/submissions${query({ [name]: value })}`}><Name value={value} /></a> : <Name value={value} />);
  return (
    <dl class="facts">
      <Fact name="col.problem">{row.problem ? <a href={`/problems/${seg(row.problem)}`}><Name value={row.problem} /></a> : "–"}</Fact>
      <Fact name="col.language">{link("language", row.language)}{compiler && <span class="note"><Name value={compiler} /></span>}</Fact>
      <Fact name="col.user">{link("user", row.user)}</Fact>
      <Fact name="col.judge">{link("worker_id", row.worker_id)}
        {judge?.calibration !== undefined && <span class="note">{t("judges.calibration")} {f.decimal(judge.calibration, 2)}</span>}</Fact>
      <Fact name="col.score"><b class="num">{row.score === undefined ? "–" : f.decimal(row.score, row.score % 1 ? 1 : 0)}</b></Fact>
      <Fact name="col.time"><span class="num">{f.ms(ran(row, row.time_ms))}</span>{limits.time_ms && <span class="note num">{t("of", { limit: f.ms(limits.time_ms) })}</span>}</Fact>
      <Fact name="col.memory"><span class="num">{f.kib(ran(row, row.memory_kb))}</span>{limits.memory_kb && <span class="note num">{t("of", { limit: f.kib(limits.memory_kb) })}</span>}</Fact>
      <Fact name="col.submitted"><time dateTime={row.created_at}>{f.moment(row.created_at)}</time></Fact>
    </dl>
  );
}

function Why({ row }) {
  if (row.status === "PENDING") return <Waiting row={row} />;
  if (row.status === "DLQ") return <p class="why bad">{t("why.dead")} {can("read") && <a href="/dead-letters">{t("nav.dead")}</a>}</p>;
  if (row.status === "SYSTEM_ERROR") return <p class="why">{t("why.retry")}</p>;
  const text = row.result?.text;
  const sub = row.result?.subcode;
  if (row.status !== "FINISHED" || !row.result) return null;
  const first = row.result.first_failing_test;
  return (
    <p class="why">
      {sub && has(`subcode.${sub}`) ? t(`subcode.${sub}`) : has(`verdict.${row.verdict}.long`) ? t(`verdict.${row.verdict}.long`) : <Name value={text} />}
      {first ? ` ${t("why.first", { n: first })}` : ""}
    </p>
  );
}

function History({ list }) {
  if (!list?.length) return null;
  return (
    <Panel title={t("history.title")} id="history">
      <table class="plain">
        <thead><tr><th scope="col">{t("history.generation")}</th><th scope="col">{t("col.verdict")}</th><th scope="col" class="num">{t("col.score")}</th><th scope="col">{t("history.when")}</th></tr></thead>
        <tbody>
          {list.map((one) => (
            <tr key={one.generation}>
              <td class="num">{one.generation}</td><td><Chip row={one} /></td><td class="num">{one.score ?? "–"}</td>
              <td>{f.moment(one.finished_at)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

export function SubmissionPage({ id }) {
  const { from, row, cases } = useSubmission(id);
  const judge = useApi(can("read") && row?.worker_id ? `/judges/${seg(row.worker_id)}` : null).data;
  const now = useClock(FINAL.has(row?.status) ? 60000 : 200);
  useTitle(row ? `${verdictName(stateOf(row))} · ${id}` : id);
  if (!row) return from.error ? <Failed error={from.error} reload={from.reload} /> : <Skeleton rows={10} />;
  const log = row.result?.compile?.log;
  return (
    <>
      <Announce row={row} />
      <header class="page-head">
        <h1 class="id"><Name value={row.submit_id} max={64} /></h1>
        <Chip row={row} />
        <Actions row={row} reload={from.reload} />
      </header>
      <div class="head-strip">{row.verdict !== "CE" && <Strip row={row} max={60} />}<Why row={row} /></div>
      {row.error && row.status !== "FINISHED" && <Text value={row.error} label={t("fault")} class="fault" />}
      <Panel id="facts"><Facts row={row} judge={judge} /></Panel>
      <Timeline row={row} now={now} />
      {row.verdict === "CE" && log && <CompileLog log={log} />}
      <Tests row={row} cases={cases} />
      {row.verdict !== "CE" && log && <CompileLog log={log} />}
      {row.source !== undefined && <Source text={row.source} language={row.language} />}
      <History list={row.history} />
      <Files row={row} raw={from.data} />
    </>
  );
}

function CompileLog({ log }) {
  return <Panel title={t("compile.log")} id="compile"><Text value={log} label={t("compile.log")} /></Panel>;
}

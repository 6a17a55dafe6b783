// tests.jsx - every test of a submission: how it ended, what it used, and where it first went wrong.
import { useEffect, useState } from "preact/hooks";
import * as f from "../core/format.js";
import { has, t } from "../core/i18n.js";
import { FINAL } from "../core/rows.js";
import { Meter, Name, Panel, Text } from "../ui/bits.jsx";
import { VerdictChip, verdictName } from "../ui/verdict.jsx";
import { LogLink } from "./source.jsx";

const FIRST = 100; // rows drawn before somebody asks for all

function firstBad(cases) {
  return cases.find((one) => one.status !== "AC" && one.status !== "SK");
}

/* Bars of time or memory against the limit; a dashed line is the limit. */
function Plot({ cases, limits, chosen, choose }) {
  const [what, set] = useState("time");
  const value = (one) => (what === "time" ? one.time_ms : one.memory_kb) ?? 0;
  const limit = what === "time" ? limits?.time_ms : limits?.memory_kb;
  const top = Math.max(1, ...cases.map(value), limit && cases.some((one) => value(one) > limit / 3) ? limit : 0);
  const text = what === "time" ? f.ms : f.kib;
  return (
    <div class="plot">
      <div class="segments" role="group" aria-label={t("plot.what")}>
        {["time", "memory"].map((one) => <button key={one} aria-pressed={one === what} onClick={() => set(one)}>{t(`col.${one}`)}</button>)}
        <span class="muted num">{t("plot.max", { value: text(Math.max(0, ...cases.map(value))), limit: text(limit) })}</span>
      </div>
      <div class="bars" role="img" aria-label={t("plot.label", { n: cases.length })}>
        <span class="bars-top num muted" aria-hidden="true">{text(top)}</span>
        {limit && limit <= top && <hr style={{ bottom: `${(100 * limit) / top}%` }} />}
        {cases.map((one) => (
          <i key={one.id} class={`v-${one.status} ${one.id === chosen ? "chosen" : ""}`} title={`${one.id} · ${verdictName(one.status)} · ${text(value(one))}`}
            style={{ height: `${Math.max(2, (100 * value(one)) / top)}%` }} onClick={() => choose(one.id)} />
        ))}
      </div>
    </div>
  );
}

/* Where two texts part: the same beginning, then each one's rest. */
function part(a, b) {
  let i = 0;
  while (i < a.length && i < b.length && a[i] === b[i]) i++;
  return i;
}

function marks(text) {
  return text.replace(/ /g, "·").replace(/\n/g, "⏎\n").replace(/\t/g, "→\t");
}

function Side({ title, text, from, kind }) {
  const rest = text.slice(from);
  return (
    <div class={`side ${kind}`}>
      <h4>{title}</h4>
      <pre dir="ltr" tabIndex={0} role="region" aria-label={title}>
        <bdi><Visible value={marks(text.slice(0, from))} /></bdi>
        {rest ? <mark><bdi><Visible value={marks(rest)} /></bdi></mark> : <mark class="end">{t("diff.nothing")}</mark>}
      </pre>
    </div>
  );
}

function Visible({ value }) {
  return <Text value={value} class="inline" />;
}

export function Difference({ one }) {
  const d = one.difference;
  if (!d) return null;
  const got = d.got ?? "";
  const expected = d.expected ?? "";
  const from = part(got, expected);
  return (
    <div class="diff">
      <p class="muted">{t("diff.where", { line: f.count(d.line), column: f.count(d.column) })}{d.why ? <> · <Name value={d.why} max={200} /></> : null}</p>
      <div class="sides">
        <Side title={t("diff.expected")} text={expected} from={from} kind="expected" />
        <Side title={t("diff.got")} text={got} from={from} kind="got" />
      </div>
    </div>
  );
}

/* What a program dies of by its own doing. Over a limit it is the judge that ends it: that signal says nothing. */
const SIGNALS = { 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 11: "SIGSEGV", 13: "SIGPIPE", 31: "SIGSYS" };
const byItself = (one) => typeof one.signal === "number" && one.status === "RTE";

function Chosen({ row, one }) {
  const logs = (row.logs ?? []).filter((name) => name.startsWith(`case_${one.id}.`) || name.startsWith(`case_${one.id}_`));
  return (
    <div class="chosen-test" id="chosen-test">
      <h3>{t("test.n", { n: one.id })} {one.name && one.name !== String(one.id) && <span class="muted"><Name value={one.name} /></span>} <VerdictChip verdict={one.status} subcode={one.subcode} /></h3>
      {one.subcode && has(`subcode.${one.subcode}`) && <p>{t(`subcode.${one.subcode}`)}</p>}
      {byItself(one) && <p>{t("test.signal", { n: one.signal, name: SIGNALS[one.signal] ?? "" })}</p>}
      {one.exit > 0 && <p>{t("test.exit", { n: one.exit })}</p>}
      <Difference one={one} />
      {one.message && <><h4>{t("test.message")}</h4><Text value={one.message} label={t("test.message")} /></>}
      {one.note && !byItself(one) && <p class="muted"><Name value={one.note} max={300} /></p>}
      {logs.length > 0 && <p class="logs">{logs.map((name) => <LogLink key={name} id={row.submit_id} name={name} />)}</p>}
    </div>
  );
}

function Row({ one, limits, chosen, choose, scores }) {
  return (
    <tr class={one.id === chosen ? "chosen" : ""}>
      <td class="num"><button class="link num" onClick={() => choose(one.id)} aria-pressed={one.id === chosen}>{one.id}</button></td>
      <td class="mid"><Name value={one.name} max={40} /></td>
      <td><VerdictChip verdict={one.status} subcode={one.subcode} /></td>
      <td class="num"><Meter value={one.status === "SK" ? undefined : one.time_ms} limit={limits?.time_ms} text={f.ms(one.time_ms)}
        label={t("meter.of", { value: f.ms(one.time_ms), limit: f.ms(limits?.time_ms) })} /></td>
      <td class="num"><Meter value={one.status === "SK" ? undefined : one.memory_kb} limit={limits?.memory_kb} text={f.kib(one.memory_kb)}
        label={t("meter.of", { value: f.kib(one.memory_kb), limit: f.kib(limits?.memory_kb) })} /></td>
      <td class="lo num">{one.wall_ms === undefined ? "" : f.ms(one.wall_ms)}</td>
      {scores && <td class="num lo">{one.score ?? ""}</td>}
      <td class="mid grow"><Name value={one.message || (one.difference ? `${t("diff.line")} ${one.difference.line}` : "") || " "} max={80} /></td>
    </tr>
  );
}

function Groups({ list }) {
  if (!list?.length) return null;
  return (
    <ul class="groups">
      {list.map((one, i) => (
        <li key={i}>{t("test.group")} <Name value={one.name} /> <b class="num">{one.score ?? 0} / {one.max ?? 0}</b></li>
      ))}
    </ul>
  );
}

export function Tests({ row, cases }) {
  const [picked, pick] = useState(null);
  const [all, setAll] = useState(false);
  useEffect(() => { pick(null); setAll(false); }, [row.submit_id]);
  if (!cases.length) {
    const total = row.total_test ?? 0;
    if (FINAL.has(row.status) || !total) return null;
  }
  const run = cases.filter((one) => one.status !== "SK");
  const shown = all ? cases : run.slice(0, FIRST);
  const chosen = cases.find((one) => one.id === picked) ?? firstBad(cases);
  const scores = Boolean(row.result?.groups?.length);
  return (
    <Panel title={t("col.tests")} id="tests"
      side={<span class="num muted">{t("strip.passed", { n: row.accepted_test ?? cases.filter((c) => c.status === "AC").length, total: row.total_test ?? cases.length })}</span>}>
      <Groups list={row.result?.groups} />
      {chosen && <Chosen row={row} one={chosen} />}
      {cases.length > 1 && <Plot cases={cases} limits={row.limits} chosen={chosen?.id} choose={pick} />}
      <div class="scroll" tabIndex={-1}>
        <table class="plain tests-table" aria-label={t("col.tests")}>
          <thead>
            <tr>
              <th scope="col" class="num">#</th><th scope="col" class="mid">{t("col.name")}</th><th scope="col">{t("col.verdict")}</th>
              <th scope="col" class="num">{t("col.time")}</th><th scope="col" class="num">{t("col.memory")}</th>
              <th scope="col" class="lo num">{t("col.wall")}</th>{scores && <th scope="col" class="num lo">{t("col.score")}</th>}
              <th scope="col" class="mid">{t("col.message")}</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((one) => <Row key={one.id} one={one} limits={row.limits} chosen={chosen?.id} choose={pick} scores={scores} />)}
          </tbody>
        </table>
      </div>
      {shown.length < cases.length && <div class="more"><button class="button" onClick={() => setAll(true)}>{run.length < cases.length && run.length <= FIRST ? t("tests.skipped", { n: cases.length - run.length }) : t("tests.all", { n: cases.length })}</button></div>}
    </Panel>
  );
}


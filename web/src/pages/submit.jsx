// submit.jsx - write a program, run it on input of your own, submit it, watch the verdict arrive.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, post, query, seg } from "../core/api.js";
import * as f from "../core/format.js";
import { t } from "../core/i18n.js";
import { useApi, useTitle } from "../core/hooks.js";
import { can } from "../core/me.js";
import { draft, setDraft } from "../core/prefs.js";
import { go } from "../core/route.js";
import { ran } from "../core/rows.js";
import { starter } from "../core/starters.js";
import { Action, Empty, Failed, Name, Panel, Skeleton, Text } from "../ui/bits.jsx";
import { attempt } from "../ui/dialogs.jsx";
import { Waiting } from "../ui/health.jsx";
import { Chip, Strip, VerdictChip } from "../ui/verdict.jsx";
import { Announce, useSubmission } from "./submission.jsx";
import { Difference } from "./tests.jsx";

const WAIT_S = 30;

/* The editor, or a plain text field until it is there and where it cannot be loaded. */
function Editor({ code, slug, version, onChange, onSubmit }) {
  const host = useRef(null);
  const editor = useRef(null);
  const [ready, set] = useState(false);
  const act = useRef({});
  act.current = { onChange, onSubmit };
  useEffect(() => {
    let gone = false;
    import("../editor/editor.js").then((module) => {
      if (gone) return;
      editor.current = module.edit(host.current, { text: code, slug, label: t("submit.code"),
        onChange: (text) => act.current.onChange(text), onSubmit: () => act.current.onSubmit() });
      set(true);
    }, () => {});
    return () => { gone = true; editor.current?.destroy(); };
  }, []);
  useEffect(() => { editor.current?.set(code, slug); }, [version, slug, ready]);
  return (
    <div class={`editor ${ready ? "ready" : ""}`}>
      <div ref={host} class="editor-host" />
      {!ready && <textarea aria-label={t("submit.code")} value={code} spellcheck={false} onInput={(e) => onChange(e.currentTarget.value)} />}
    </div>
  );
}

/* The verdict of what was just submitted, beside the program. */
function Outcome({ id }) {
  const { from, row, cases } = useSubmission(id);
  if (!row) return from.error ? <Failed error={from.error} reload={from.reload} /> : <Skeleton rows={3} />;
  const bad = cases.find((one) => one.status !== "AC" && one.status !== "SK");
  return (
    <div class="outcome" data-id={id}>
      <Announce row={row} />
      <p class="outcome-head"><Chip row={row} /><a href={`/submissions/${seg(id)}`}>{t("submit.details")}</a></p>
      {row.verdict !== "CE" && <Strip row={row} max={40} />}
      <dl class="facts small-facts three">
        <div><dt>{t("col.time")}</dt><dd class="num">{f.ms(ran(row, row.time_ms))}</dd></div>
        <div><dt>{t("col.memory")}</dt><dd class="num">{f.kib(ran(row, row.memory_kb))}</dd></div>
        <div><dt>{t("col.score")}</dt><dd class="num">{row.score ?? "–"}</dd></div>
      </dl>
      {row.status === "PENDING" && <Waiting row={row} />}
      {row.verdict === "CE" && <Text value={row.result?.compile?.log ?? ""} label={t("compile.log")} />}
      {bad && <div class="outcome-bad"><h3>{t("test.n", { n: bad.id })} <VerdictChip verdict={bad.status} subcode={bad.subcode} /></h3><Difference one={bad} /></div>}
    </div>
  );
}

function RunOutput({ run }) {
  const out = run.result?.run ?? {};
  return (
    <div class="run-output">
      <p class="outcome-head"><Chip row={run} /><span class="num muted">{f.ms(run.result?.time_ms)} · {f.kib(run.result?.memory_kb)}</span></p>
      {run.result?.verdict === "CE" ? <Text value={run.result.compile?.log ?? ""} label={t("compile.log")} /> : <>
        <h3>{t("run.stdout")}</h3>
        {out.stdout ? <Text value={out.stdout} label={t("run.stdout")} /> : <p class="muted">{t("run.nothing")}</p>}
        {out.stdout_truncated && <p class="muted">{t("run.truncated")}</p>}
        {out.stderr && <><h3>{t("run.stderr")}</h3><Text value={out.stderr} label={t("run.stderr")} /></>}
      </>}
    </div>
  );
}

function Custom({ language, code, problem }) {
  const [input, setInput] = useState("1 2\n");
  const [run, setRun] = useState(null);
  const start = () => attempt(async () => {
    setRun(null);
    let now = await post(`/runs?wait=${WAIT_S}`, { language, code, stdin: input,
      ...problem?.time_limit && { time_limit: problem.time_limit }, ...problem?.memory_limit && { memory_limit: problem.memory_limit } });
    while (!["FINISHED", "DLQ", "CANCELLED"].includes(now.status)) {
      setRun(now);
      now = await get(`/runs/${seg(now.submit_id)}?wait=${WAIT_S}`);
    }
    setRun(now);
  });
  return (
    <Panel title={t("run.title")} id="run" side={<Action icon="play" class="small" run={start} disabled={!language || !code} data-run>{t("run.do")}</Action>}>
      <label class="field block"><span>{t("run.stdin")}</span>
        <textarea rows={4} value={input} spellcheck={false} onInput={(e) => setInput(e.currentTarget.value)} /></label>
      <div aria-live="polite">{run && <RunOutput run={run} />}</div>
    </Panel>
  );
}

function Choice({ label, name, value, options, onChange }) {
  return (
    <label class="field"><span>{label}</span>
      <select name={name} value={value} onChange={(e) => onChange(e.currentTarget.value)}>
        {options.map((one) => <option key={one.value} value={one.value} disabled={one.disabled}>{one.label}</option>)}
      </select>
    </label>
  );
}

/* The program of another submission, when the address names one. */
function useCode(params, problem, language) {
  const [state, set] = useState({ code: "", version: 0, for: "" });
  const key = `${problem}/${language}`;
  useEffect(() => {
    if (!language) return;
    set((old) => ({ code: draft(problem, language) ?? starter(language), version: old.version + 1, for: key }));
  }, [key]);
  useEffect(() => {
    if (!params.from || !language) return;
    attempt(async () => {
      const { source } = await get(`/submissions/${seg(params.from)}?source=1`);
      if (source !== undefined) set((old) => ({ ...old, code: source, version: old.version + 1 }));
    });
  }, [params.from, Boolean(language)]);
  const change = (code) => {
    setDraft(problem, language, code);
    set((old) => ({ ...old, code }));
  };
  const reset = () => {
    setDraft(problem, language, null);
    set((old) => ({ ...old, code: starter(language), version: old.version + 1 }));
  };
  return { ...state, change, reset };
}

export function SubmitPage({ params }) {
  useTitle(t("nav.submit"));
  const problems = useApi("/problems", (event) => event.type === "problem");
  const languages = useApi("/languages", (event) => event.type === "judge", 3000);
  const usable = useMemo(() => (problems.data?.problems ?? []).filter((one) => !one.error), [problems.data]);
  const known = languages.data?.languages ?? [];
  const problem = usable.find((one) => one.id === params.problem) ?? usable[0];
  const language = known.find((one) => one.slug === params.language) ?? known.find((one) => one.judges > 0) ?? known[0];
  const text = useCode(params, problem?.id, language?.slug);
  const [sent, setSent] = useState(null);
  const choose = (change) => go(`/submit${query({ problem: problem?.id, language: language?.slug, ...change })}`, true);
  const submit = () => attempt(async () => {
    const made = await post("/submissions", { problem: problem.id, language: language.slug, code: text.code });
    setSent(made.submit_id);
  });

  if (!problems.data || !languages.data) {
    const failed = problems.error ? problems : languages.error ? languages : null;
    return failed ? <Failed error={failed.error} reload={failed.reload} /> : <Skeleton rows={12} />;
  }
  if (!problem) {
    return <Empty icon="upload" title={t("problem.none")}><p>{t("problem.noneText")}</p>{can("admin") && <p><a class="button primary" href="/problems">{t("nav.problems")}</a></p>}</Empty>;
  }
  const size = new Blob([text.code]).size;
  return (
    <>
      <h1 class="sr">{t("nav.submit")}</h1>
      <div class="submit">
        <section class="panel submit-main">
          <div class="fields pad">
            <Choice label={t("col.problem")} name="problem" value={problem.id} onChange={(id) => choose({ problem: id })}
              options={usable.map((one) => ({ value: one.id, label: one.name && one.name !== one.id ? `${one.id} · ${one.name}` : one.id }))} />
            <Choice label={t("col.language")} name="language" value={language?.slug} onChange={(slug) => choose({ language: slug })}
              options={known.map((one) => ({ value: one.slug, label: one.judges ? one.name : t("submit.nojudge", { name: one.name }) }))} />
            <span class="muted num limits">{f.ms(problem.time_limit)} · {f.kib((problem.memory_limit ?? 0) * 1024)} · {t("submit.tests", { n: f.count(problem.tests) })}
              {language?.versions?.length > 0 && <> · {t("submit.compiler")} <Name value={language.versions.join(", ")} max={80} /></>}</span>
          </div>
          <Editor code={text.code} slug={language?.slug} version={text.version} onChange={text.change} onSubmit={submit} />
          <div class="submit-bar">
            <button class="button" onClick={text.reset}>{t("submit.starter")}</button>
            <span class="muted num">{f.bytes(size)}</span>
            <span class="muted hint-keys"><kbd>Ctrl</kbd> <kbd>Enter</kbd></span>
            <Action class="primary" run={submit} disabled={!language || !text.code.trim() || size > 1000000} data-submit>{t("submit.do")}</Action>
          </div>
        </section>
        <div class="submit-side">
          <Panel title={t("submit.verdict")} id="outcome">
            {sent ? <Outcome id={sent} /> : <p class="muted pad">{t("submit.none")}</p>}
          </Panel>
          <Custom language={language?.slug} code={text.code} problem={problem} />
        </div>
      </div>
    </>
  );
}

// problems.jsx - what can be judged here; one problem with its versions; uploading.
import { useRef, useState } from "preact/hooks";
import { post, putFile, query, seg } from "../core/api.js";
import * as f from "../core/format.js";
import { t } from "../core/i18n.js";
import { useApi, useClock, useTitle } from "../core/hooks.js";
import { can } from "../core/me.js";
import { Action, Ago, Empty, Loaded, Name, Panel, Text, sentence } from "../ui/bits.jsx";
import { attempt } from "../ui/dialogs.jsx";
import { Icon } from "../ui/icons.jsx";

function State({ problem }) {
  if (problem.error) return <span class="state bad"><Icon name="cross" />{t("problem.broken")}</span>;
  if (problem.set_aside) return <span class="state warn"><Icon name="pause" />{t("problem.aside")}</span>;
  return <span class="state ok"><Icon name="check" />{t("problem.usable")}</span>;
}

function Row({ one, now }) {
  return (
    <tr data-problem={one.id}>
      <th scope="row"><a href={`/problems/${seg(one.id)}`}><Name value={one.id} max={40} /></a></th>
      <td class="grow mid"><Name value={one.name} max={60} /></td>
      <td class="num">{f.count(one.tests)}</td>
      <td class="num mid">{f.ms(one.time_limit)}</td>
      <td class="num mid">{one.memory_limit ? f.kib(one.memory_limit * 1024) : "–"}</td>
      <td class="lo">{one.scoring ?? "–"}{one.interactive ? ` · ${t("problem.interactive")}` : ""}</td>
      <td class="lo num">{f.bytes(one.size)}</td>
      <td class="lo num"><Ago at={one.updated_at} now={now} /></td>
      <td><State problem={one} />{one.findings?.length > 0 && <span class="note">{t("problem.notes", { n: one.findings.length })}</span>}</td>
    </tr>
  );
}

/* Zip archives, dropped or chosen. The problem's id is the file's name. */
function Upload({ reload }) {
  const [results, set] = useState([]);
  const [over, setOver] = useState(false);
  const input = useRef(null);
  const send = async (files) => {
    for (const file of files) {
      const id = file.name.replace(/\.zip$/i, "").replace(/[^A-Za-z0-9._-]/g, "-").replace(/^[.-]+/, "") || "problem";
      const put = (entry) => set((old) => [entry, ...old.filter((one) => one.id !== id)].slice(0, 20));
      put({ id, busy: true });
      try {
        put({ id, problem: await putFile(`/problems/${seg(id)}`, file) });
      } catch (error) {
        put({ id, error });
      }
    }
    reload();
  };
  const drop = (event) => {
    event.preventDefault();
    setOver(false);
    send([...event.dataTransfer.files]);
  };
  return (
    <Panel title={t("upload.title")} id="upload">
      <div class={`drop ${over ? "over" : ""}`} onDragOver={(e) => { e.preventDefault(); setOver(true); }} onDragLeave={() => setOver(false)} onDrop={drop}>
        <Icon name="upload" />
        <p>{t("upload.text")}</p>
        <button class="button" onClick={() => input.current.click()}>{t("upload.choose")}</button>
        <input ref={input} class="sr" type="file" accept=".zip,application/zip" multiple tabIndex={-1} aria-label={t("upload.choose")}
          onChange={(e) => { send([...e.currentTarget.files]); e.currentTarget.value = ""; }} />
      </div>
      <ul class="findings" aria-live="polite">
        {results.map((one) => <Finding key={one.id} one={one} />)}
      </ul>
    </Panel>
  );
}

function Finding({ one }) {
  const list = one.problem?.findings ?? one.error?.findings ?? [];
  const why = one.problem?.error ?? (one.error && sentence(one.error));
  return (
    <li>
      <b><Name value={one.id} /></b>{" "}
      {one.busy ? <span class="muted">{t("upload.busy")}</span>
        : why ? <span class="state bad"><Icon name="cross" />{t("upload.refused")}</span>
          : <span class="state ok"><Icon name="check" />{t("upload.done", { n: one.problem.tests ?? 0 })}</span>}
      {why && <Text value={why} label={t("upload.refused")} />}
      <Findings list={list.filter((finding) => finding.message !== why)} />
    </li>
  );
}

/* What the checks found, each on a line. */
function Findings({ list }) {
  if (!list?.length) return null;
  return (
    <ul class="found">
      {list.map((one, i) => (
        <li key={i} class={one.level === "error" ? "late" : "muted"}>
          <Icon name={one.level === "error" ? "cross" : "info"} /><span><Name value={one.message} max={400} /></span>
        </li>
      ))}
    </ul>
  );
}

export function ProblemsPage() {
  useTitle(t("nav.problems"));
  const now = useClock(10000);
  const from = useApi("/problems", (event) => event.type === "problem");
  const rescan = async () => {
    await attempt(() => post("/problems/rescan"), (answer) => t("problem.rescanned", { n: answer.changed }));
    await from.reload();
  };
  return (
    <>
      <header class="page-head">
        <h1>{t("nav.problems")}</h1>
        <div class="actions">{can("admin") && <Action icon="retry" run={rescan}>{t("problem.rescan")}</Action>}</div>
      </header>
      {can("admin") && <Upload reload={from.reload} />}
      <Panel>
        <Loaded from={from} rows={6}>
          {(data) => (data.problems.length ? (
            <div class="scroll" tabIndex={-1}>
              <table class="plain" aria-label={t("nav.problems")}>
                <thead>
                  <tr>
                    <th scope="col">{t("col.problem")}</th><th scope="col" class="mid">{t("col.name")}</th><th scope="col" class="num">{t("col.tests")}</th>
                    <th scope="col" class="num mid">{t("col.time")}</th><th scope="col" class="num mid">{t("col.memory")}</th><th scope="col" class="lo">{t("problem.scoring")}</th>
                    <th scope="col" class="num lo">{t("problem.size")}</th><th scope="col" class="num lo">{t("problem.updated")}</th><th scope="col">{t("queue.state")}</th>
                  </tr>
                </thead>
                <tbody>{data.problems.map((one) => <Row key={one.id} one={one} now={now} />)}</tbody>
              </table>
            </div>
          ) : <Empty icon="upload" title={t("problem.none")}><p>{t("problem.noneText")}</p></Empty>)}
        </Loaded>
      </Panel>
    </>
  );
}

function Versions({ id }) {
  const from = useApi(`/problems/${seg(id)}/versions`, (event) => event.type === "problem" && event.problem === id);
  return (
    <Panel title={t("problem.versions")} id="versions">
      <Loaded from={from} rows={3}>
        {(data) => (
          <table class="plain">
            <thead><tr><th scope="col">{t("problem.version")}</th><th scope="col" class="mid">{t("problem.data")}</th><th scope="col" class="num">{t("problem.size")}</th><th scope="col">{t("problem.since")}</th></tr></thead>
            <tbody>
              {data.versions.map((one) => (
                <tr key={one.version}>
                  <th scope="row"><code>{one.version?.slice(0, 12)}</code> {one.current && <span class="state ok"><Icon name="check" />{t("problem.current")}</span>}</th>
                  <td class="mid"><code title={one.data}>{one.data?.slice(0, 12)}</code></td><td class="num">{f.bytes(one.size)}</td><td>{f.moment(one.created_at)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Loaded>
    </Panel>
  );
}

export function ProblemPage({ id }) {
  useTitle(id);
  const from = useApi(`/problems/${seg(id)}`, (event) => event.type === "problem" && event.problem === id);
  return (
    <Loaded from={from} rows={8}>
      {(one) => (
        <>
          <header class="page-head">
            <h1><Name value={one.name || one.id} /></h1>
            <State problem={one} />
            <div class="actions">
              {can("submit") && !one.error && <a class="button primary" href={`/submit${query({ problem: one.id })}`}>{t("nav.submit")}</a>}
              {can("read") && <a class="button" href={`/submissions${query({ problem: one.id })}`}>{t("nav.submissions")}</a>}
            </div>
          </header>
          {one.error && <Text value={one.error} label={t("problem.broken")} class="fault" />}
          <Panel>
            <dl class="facts">
              {[["problem.id", <Name value={one.id} />], ["col.tests", f.count(one.tests)], ["col.time", f.ms(one.time_limit)],
                ["col.memory", one.memory_limit ? f.kib(one.memory_limit * 1024) : "–"], ["problem.scoring", one.scoring ?? "–"],
                ["problem.format", <Name value={one.format} />], ["problem.size", f.bytes(one.size)], ["problem.updated", f.moment(one.updated_at)]]
                .map(([name, value]) => <div key={name}><dt>{t(name)}</dt><dd class="num">{value}</dd></div>)}
            </dl>
          </Panel>
          {one.findings?.length > 0 && <Panel title={t("problem.findings")} id="findings"><Findings list={one.findings} /></Panel>}
          {can("read") && <Versions id={id} />}
        </>
      )}
    </Loaded>
  );
}

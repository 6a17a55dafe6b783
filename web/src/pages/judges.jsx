// judges.jsx - who judges: alive or lost, how busy, how fast, with what.
import { post, query, seg } from "../core/api.js";
import * as f from "../core/format.js";
import { t } from "../core/i18n.js";
import { useApi, useClock, useTitle } from "../core/hooks.js";
import { can } from "../core/me.js";
import { Action, Ago, Empty, Id, Loaded, Name, Slots } from "../ui/bits.jsx";
import { ask, attempt } from "../ui/dialogs.jsx";
import { Icon } from "../ui/icons.jsx";

const STATES = { connected: ["ok", "check"], draining: ["warn", "drain"], lost: ["bad", "cross"] };

function State({ state }) {
  const [tone, icon] = STATES[state] ?? ["warn", "question"];
  return <span class={`state ${tone}`}><Icon name={icon} />{t(`judge.${state}`)}</span>;
}

/* Heartbeats come every 5 s; two missed are worth a look, three are a loss. */
const beat = (age) => (age > 15000 ? "bad" : age > 8000 ? "warn" : "ok");

function Fact({ name, tone = "", children }) {
  return <div class={tone}><dt>{t(name)}</dt><dd class="num">{children}</dd></div>;
}

function hitRate(cache) {
  const asked = (cache?.hits ?? 0) + (cache?.misses ?? 0);
  return asked ? `${f.decimal((100 * cache.hits) / asked, 0)} %` : "–";
}

async function move(judge, from) {
  const verb = judge.state === "draining" ? "resume" : "drain";
  if (verb === "drain" && !await ask({ title: t("judge.askDrain", { id: judge.judge_id }), text: t("judge.drainText"), yes: t("judge.drain") })) return;
  await attempt(() => post(`/judges/${seg(judge.judge_id)}/${verb}`), t(`judge.${verb}Done`, { id: judge.judge_id }));
  await from.reload();
}

function Tasks({ list, now }) {
  return (
    <ul class="tasks">
      {list.map((one) => (
        <li key={one.submit_id}>
          <a href={`/submissions/${seg(one.submit_id)}`}><Id value={one.submit_id} /></a>
          <span class="muted"><Name value={one.problem} max={24} /> · <Name value={one.language} /></span>
          <progress max={one.total || 1} value={one.done ?? 0} aria-label={t("strip.running", { n: one.done ?? 0, total: one.total ?? 0 })} />
          <span class="num muted">{f.ms(Math.max(0, now - f.millis(one.since)))}</span>
        </li>
      ))}
    </ul>
  );
}

/* What it was given is known at once; what it says itself is as old as its heartbeat. */
const busyOf = (judge) => judge.running ?? judge.busy ?? 0;

const byId = (a, b) => a.judge_id.localeCompare(b.judge_id, undefined, { numeric: true });

function Card({ judge, now, from }) {
  const age = now - f.millis(judge.last_heartbeat_at);
  const weak = judge.box?.weak ?? [];
  return (
    <article class={`card judge ${judge.state}`} data-judge={judge.judge_id} aria-label={judge.judge_id}>
      <header>
        <h2><Name value={judge.judge_id} max={40} /></h2>
        <State state={judge.state} />
        {can("admin") && judge.state !== "lost" && (
          <Action class="small" icon={judge.state === "draining" ? "play" : "drain"} run={() => move(judge, from)}>
            {t(judge.state === "draining" ? "judge.resume" : "judge.drain")}
          </Action>
        )}
      </header>
      <div class="slots-line"><Slots busy={busyOf(judge)} total={judge.slots ?? judge.tokens} /><span class="num muted">{t("judges.slots", { busy: busyOf(judge), total: judge.slots ?? judge.tokens ?? 0 })}</span></div>
      <dl class="facts small-facts">
        <Fact name="judge.beat" tone={`beat-${judge.state === "lost" ? "bad" : beat(age)}`}><Ago at={judge.last_heartbeat_at} now={now} /></Fact>
        <Fact name="judge.load">{f.decimal(judge.load, 2)}{judge.cores ? <span class="note">{t("judge.cores", { n: judge.cores })}</span> : null}</Fact>
        <Fact name="judge.memory">{judge.memory_free_mib === undefined ? "–" : f.kib(judge.memory_free_mib * 1024)}<span class="note">{t("of", { limit: f.kib((judge.memory_mib ?? 0) * 1024) })}</span></Fact>
        <Fact name="judge.judged">{f.count(judge.judged ?? 0)}{judge.faults > 0 && <span class="note late">{t("judge.faults", { n: f.count(judge.faults) })}</span>}</Fact>
        <Fact name="judge.cache">{hitRate(judge.cache)}{judge.cache && <span class="note">{t("judge.kept", { n: f.count(judge.cache.entries) })} · {f.bytes(judge.cache.bytes)}</span>}</Fact>
        <Fact name="judges.calibration">{f.decimal(judge.calibration, 2)}<span class="note">{t("judge.calibrationNote")}</span></Fact>
        <Fact name="judge.version"><Name value={judge.version} /></Fact>
        <Fact name="judge.since"><Ago at={judge.connected_at} now={now} /></Fact>
      </dl>
      {judge.tasks?.length > 0 && <Tasks list={judge.tasks} now={now} />}
      {weak.length > 0 && <p class="note late"><Icon name="warn" /> {t("judge.weak")} <Name value={weak.join(", ")} max={200} /></p>}
      <details class="log">
        <summary>{t("judge.languages", { n: judge.languages?.length ?? 0 })}</summary>
        <ul class="langs">{(judge.languages ?? []).map((one) => <li key={one.slug}><b><Name value={one.slug} /></b> <span class="muted"><Name value={one.version} max={80} /></span></li>)}</ul>
      </details>
      <footer><a href={`/submissions${query({ worker_id: judge.judge_id })}`}>{t("judge.all")}</a>
        {judge.address && <span class="muted num"><Name value={judge.address.replace(/^::ffff:/, "")} /></span>}</footer>
    </article>
  );
}

export function JudgesPage() {
  useTitle(t("nav.judges"));
  const now = useClock();
  const from = useApi("/judges", (event) => event.type === "judge" || event.type === "stats", 1500);
  return (
    <>
      <h1>{t("nav.judges")}</h1>
      <Loaded from={from} rows={6}>
        {(data) => (data.judges.length
          ? <div class="cards">{[...data.judges].sort(byId).map((one) => <Card key={one.judge_id} judge={one} now={now} from={from} />)}</div>
          : (
            <Empty icon="warn" title={t("judge.none")}>
              <p>{t("judge.noneText")}</p>
              <pre class="command">tribunal keys new --role judge &gt; judge.key{"\n"}tribunal-worker --controller {location.protocol === "https:" ? "wss" : "ws"}://{location.host} --key-file judge.key</pre>
            </Empty>
          ))}
      </Loaded>
    </>
  );
}

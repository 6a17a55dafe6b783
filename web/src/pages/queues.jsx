// queues.jsx - what waits where, how fast it goes, and stopping it.
import { post, seg } from "../core/api.js";
import * as f from "../core/format.js";
import { t } from "../core/i18n.js";
import { useApi, useTitle } from "../core/hooks.js";
import { can } from "../core/me.js";
import { Action, Ago, Empty, Loaded, Name, Panel } from "../ui/bits.jsx";
import { ask, attempt } from "../ui/dialogs.jsx";
import { Icon } from "../ui/icons.jsx";

async function pause(queue, from) {
  const verb = queue.paused ? "resume" : "pause";
  if (!queue.paused && !await ask({ title: t("queue.askPause", { name: queue.name }), text: t("queue.pauseText"), yes: t("queue.pause"), danger: true })) return;
  await attempt(() => post(`/queues/${seg(queue.name)}/${verb}`), t(`queue.${verb}d`, { name: queue.name }));
  await from.reload();
}

function Row({ queue, most, from }) {
  const waiting = queue.ready + (queue.scheduled ?? 0);
  return (
    <tr class={queue.paused ? "paused" : ""} data-queue={queue.name}>
      <th scope="row" class="queue-name"><Name value={queue.name} max={60} /></th>
      <td class="lo"><Name value={queue.class} /></td>
      <td class="num" data-label={t("queue.ready")}>
        <span class="depth"><i style={{ width: `${most ? (100 * waiting) / most : 0}%` }} aria-hidden="true" /><span>{f.count(queue.ready)}</span></span>
      </td>
      <td class="num mid">{f.count(queue.scheduled ?? 0)}</td>
      <td class="num" data-label={t("queue.running")}>{f.count(queue.running)}</td>
      <td class="num" data-label={t("queue.rate")}>{f.decimal(queue.per_minute ?? 0, 0)}</td>
      <td class={`num ${queue.ready && queue.oldest_s > 60 ? "late" : ""}`} data-label={t("queue.oldest")}>{queue.ready ? f.seconds(queue.oldest_s) : "–"}</td>
      <td class="num lo">{queue.dead > 0 ? <a href="/dead-letters">{f.count(queue.dead)}</a> : "0"}</td>
      <td class={`num lo ${queue.judges === 0 ? "late" : ""}`}>{f.count(queue.judges)}</td>
      <td>{queue.paused
        ? <span class="state warn"><Icon name="pause" />{t("queue.isPaused")}</span>
        : queue.judges === 0 && waiting > 0 ? <span class="state warn"><Icon name="warn" />{t("queue.nobody")}</span>
          : <span class="state ok"><Icon name="play" />{t("queue.isOpen")}</span>}</td>
      <td class="right">{can("admin") && <Action class="small" icon={queue.paused ? "play" : "pause"} run={() => pause(queue, from)}
        aria-label={`${t(queue.paused ? "queue.resume" : "queue.pause")} ${queue.name}`}>
        {t(queue.paused ? "queue.resume" : "queue.pause")}</Action>}</td>
    </tr>
  );
}

/* The higher band first, as the judges take them; then by name, so that rows stay where they are. */
const BANDS = ["high", "normal", "low"];
const byNeed = (a, b) => BANDS.indexOf(a.band) - BANDS.indexOf(b.band) || a.name.localeCompare(b.name);

function Table({ list, from }) {
  const most = Math.max(0, ...list.map((one) => one.ready + (one.scheduled ?? 0)));
  return (
    <div class="scroll" tabIndex={-1}>
      <table class="plain queues" aria-label={t("nav.queues")}>
        <thead>
          <tr>
            <th scope="col">{t("queue.name")}</th><th scope="col" class="lo">{t("queue.class")}</th>
            <th scope="col" class="num">{t("queue.ready")}</th><th scope="col" class="num mid">{t("queue.scheduled")}</th>
            <th scope="col" class="num">{t("queue.running")}</th><th scope="col" class="num">{t("queue.rate")}</th>
            <th scope="col" class="num">{t("queue.oldest")}</th><th scope="col" class="num lo">{t("queue.dead")}</th>
            <th scope="col" class="num lo">{t("nav.judges")}</th><th scope="col">{t("queue.state")}</th>
            <th scope="col"><span class="sr">{t("actions")}</span></th>
          </tr>
        </thead>
        <tbody>{[...list].sort(byNeed).map((queue) => <Row key={queue.name} queue={queue} most={most} from={from} />)}</tbody>
      </table>
    </div>
  );
}

/* Languages and problems that the controller stopped judging because they kept failing. */
function SetAsides() {
  const from = useApi("/set-asides", (event) => event.type === "set_aside");
  const list = from.data?.set_asides ?? [];
  if (!list.length) return null;
  const resume = async (one) => {
    await attempt(() => post(`/set-asides/${seg(one.kind)}/${seg(one.name)}/resume`), t("aside.resumed", { name: one.name }));
    await from.reload();
  };
  return (
    <Panel title={t("aside.title")} id="asides">
      <p class="pad muted">{t("aside.text")}</p>
      <table class="plain">
        <thead><tr><th scope="col">{t("aside.what")}</th><th scope="col" class="num">{t("aside.faults")}</th><th scope="col">{t("aside.last")}</th><th scope="col">{t("aside.since")}</th><th scope="col"><span class="sr">{t("actions")}</span></th></tr></thead>
        <tbody>
          {list.map((one) => (
            <tr key={`${one.kind}/${one.name}`}>
              <th scope="row">{t(`aside.${one.kind}`)} <Name value={one.name} /></th>
              <td class="num">{f.count(one.faults)}</td><td><Name value={one.message} max={200} /></td><td><Ago at={one.since} /></td>
              <td class="right">{can("admin") && <Action class="small" icon="play" run={() => resume(one)}>{t("queue.resume")}</Action>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

export function QueuesPage() {
  useTitle(t("nav.queues"));
  const from = useApi("/queues", (event) => event.type === "stats", 1500);
  return (
    <>
      <h1>{t("nav.queues")}</h1>
      <SetAsides />
      <Panel>
        <Loaded from={from} rows={5}>
          {(data) => (data.queues.length ? <Table list={data.queues} from={from} />
            : <Empty icon="info" title={t("queue.none")}><p>{t("queue.noneHow")}</p></Empty>)}
        </Loaded>
      </Panel>
    </>
  );
}

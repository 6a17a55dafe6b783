// live.jsx - is it healthy, how long until a verdict, and what happens right now.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import * as f from "../core/format.js";
import { t, useLang } from "../core/i18n.js";
import { useApi, useClock, useEvents, useTitle } from "../core/hooks.js";
import { can } from "../core/me.js";
import { useNow } from "../core/now.js";
import { useLookup } from "../core/lookup.js";
import { Rows, isFirst } from "../core/rows.js";
import { useFrame } from "../core/frame.js";
import { Empty, Failed, Panel, Skeleton, Slots } from "../ui/bits.jsx";
import { Chart, Legend } from "../ui/chart.jsx";
import { Health } from "../ui/health.jsx";
import { Icon } from "../ui/icons.jsx";
import { RowTable } from "../ui/rowtable.jsx";

const SHOWN = 30;
const RANGES = [10, 60, 1440];
const CALM = 300; // per minute; above, every row would be lit all the time

function Tile({ label, value, note, children, tone = "" }) {
  return (
    <div class={`tile ${tone}`}>
      <dt>{label}</dt>
      <dd><b class="num">{value}</b>{note && <span class="note num">{note}</span>}{children}</dd>
    </div>
  );
}

function Tiles({ now }) {
  const n = now ?? {};
  const late = (n.oldest_s ?? 0) > 60;
  return (
    <dl class="tiles">
      <Tile label={t("live.rate")} value={n.finished_per_minute === undefined ? "–" : f.count(Math.round(n.finished_per_minute))} note={t("live.perMinute")} />
      <Tile label={t("live.waiting")} value={f.count(n.pending)} note={n.running === undefined ? "" : t("live.running", { n: f.count(n.running) })} />
      <Tile label={t("live.oldest")} value={n.pending ? f.seconds(n.oldest_s) : "–"} tone={late ? "warn" : ""} note={late ? t("live.late") : ""} />
      <Tile label={t("live.wait")} value={f.ms(n.wait_p50_ms)} note={`p95 ${f.ms(n.wait_p95_ms)}`} />
      <Tile label={t("live.total")} value={f.ms(n.total_p50_ms)} note={`p95 ${f.ms(n.total_p95_ms)}`} />
      <Tile label={t("live.judges")} value={`${f.count(n.busy)} / ${f.count(n.slots)}`}
        tone={n.judges === 0 ? "warn" : ""} note={n.judges === 0 ? t("live.nojudge") : t("live.njudges", { n: n.judges ?? 0 })}>
        {n.slots > 0 && n.slots <= 32 && <Slots busy={n.busy} total={n.slots} />}
      </Tile>
    </dl>
  );
}

/* Per step → per minute, so that the scale is the same for all ranges. */
function useSeries(stats) {
  return useMemo(() => {
    const s = stats?.series ?? {};
    const at = s.at ?? [];
    const rate = (list) => at.map((_, i) => (list?.[i] ?? 0) * (60 / (stats?.step_s || 1)));
    const smooth = (list) => list.map((_, i) => {
      const part = list.slice(Math.max(0, i - 4), i + 1);
      return part.reduce((a, b) => a + b, 0) / part.length;
    });
    return {
      rates: [at, smooth(rate(s.finished)), smooth(rate(s.accepted))],
      waits: [at, at.map((_, i) => s.wait_ms?.[i] ?? null)],
      depth: [at, at.map((_, i) => s.pending?.[i] ?? null), at.map((_, i) => s.running?.[i] ?? null)],
    };
  }, [stats]);
}

function Charts() {
  const [minutes, set] = useState(RANGES[0]);
  const stats = useApi(`/stats?minutes=${minutes}`, (event) => event.type === "stats", minutes === 10 ? 2000 : 15000);
  const { rates, waits, depth } = useSeries(stats.data);
  const rateLines = [{ label: t("chart.finished"), color: "--accent", fill: true }, { label: t("chart.accepted"), color: "--ok", dash: [4, 3] }];
  const waitLines = [{ label: t("chart.wait"), color: "--warm", fill: true }];
  const depthLines = [{ label: t("chart.pending"), color: "--violet", fill: true }, { label: t("chart.running"), color: "--accent", dash: [4, 3] }];
  const ranges = (
    <div class="segments" role="group" aria-label={t("chart.range")}>
      {RANGES.map((one) => (
        <button key={one} aria-pressed={one === minutes} onClick={() => set(one)}>{t(`chart.${one}`)}</button>
      ))}
    </div>
  );
  return (
    <div class="charts">
      <Panel title={t("chart.rateTitle")}>
        <Legend series={rateLines} />
        <Chart data={rates} series={rateLines} unit={(v) => f.count(Math.round(v))} label={t("chart.rateTitle")} />
      </Panel>
      <Panel title={t("chart.waitTitle")}>
        <Legend series={waitLines} />
        <Chart data={waits} series={waitLines} unit={f.ms} label={t("chart.waitTitle")} />
      </Panel>
      <Panel title={t("chart.depthTitle")} side={ranges}>
        <Legend series={depthLines} />
        <Chart data={depth} series={depthLines} unit={(v) => f.count(Math.round(v))} label={t("chart.depthTitle")} />
      </Panel>
    </div>
  );
}

/* The newest submissions. While somebody points at the list or is in it by keyboard nothing is put
 * in above; how many wait is said instead. */
function Feed() {
  const words = useLang();
  const rows = useRef(new Rows(SHOWN * 4)).current;
  const [held, hold] = useState(null);
  const draw = useFrame();
  const now = useClock();
  const numbers = useNow();
  const first = useApi(`/submissions?limit=${SHOWN}`, undefined, 1500);
  const loaded = useRef(null);
  if (first.data && loaded.current !== first.data) {
    loaded.current = first.data;
    rows.load(first.data.submissions);
  }
  const [warm, setWarm] = useState(false); // rows that come after the first page light up
  useEffect(() => {
    if (!first.data) return undefined;
    const timer = setTimeout(() => setWarm(true), 1000);
    return () => clearTimeout(timer);
  }, [Boolean(first.data)]);
  const lookUp = useLookup(rows, draw);
  useEvents((event) => {
    const known = rows.map.has(event.submit_id);
    if (!rows.apply(event)) return;
    draw();
    if (!known && !isFirst(event)) lookUp(event.submit_id);
  });

  const all = rows.list();
  const shown = held ? held.map((id) => rows.map.get(id)).filter(Boolean) : all.slice(0, SHOWN);
  const fresh = held ? all.findIndex((row) => row.submit_id === held[0]) : 0;
  const stop = () => held || hold(all.slice(0, SHOWN).map((row) => row.submit_id));
  const release = () => hold(null);
  const leave = (event) => event.currentTarget.contains(event.relatedTarget) || release();

  if (!first.data) return first.error ? <Failed error={first.error} reload={first.reload} /> : <Skeleton rows={12} />;
  if (!all.length) {
    return (
      <Empty icon="play" title={t("live.empty")}>
        <p>{t("live.emptyHow")}</p>
        {can("submit") && <p><a class="button primary" href="/submit">{t("nav.submit")}</a></p>}
        <p><code>tribunal submit sum.cpp -p a-plus-b --wait</code></p>
      </Empty>
    );
  }
  return (
    <div class={`feed ${warm && (numbers?.finished_per_minute ?? 0) < CALM ? "warm" : ""}`} onMouseEnter={stop} onMouseLeave={release} onFocusIn={stop} onFocusOut={leave}>
      {fresh > 0 && <button class="pill" onClick={release}><Icon name="up" />{t("rows.new", { n: fresh })}</button>}
      <RowTable rows={shown} now={now} words={words} label={t("live.latest")} />
    </div>
  );
}

export function LivePage() {
  const now = useNow();
  useTitle(t("nav.live"));
  return (
    <>
      <h1 class="sr">{t("nav.live")}</h1>
      <Health />
      <Tiles now={now} />
      <Charts />
      <Panel title={t("live.latest")} id="latest" side={<a href="/submissions">{t("live.all")}</a>}>
        <Feed />
      </Panel>
    </>
  );
}

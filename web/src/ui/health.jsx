// health.jsx - the sentence that an operator reads first, and the one for a submission that waits.
import * as f from "../core/format.js";
import { health, held, waitFor } from "../core/health.js";
import { useApi } from "../core/hooks.js";
import { t } from "../core/i18n.js";
import { can } from "../core/me.js";
import { useNow } from "../core/now.js";
import { plain } from "../core/visible.js";
import { Icon } from "./icons.jsx";

const COUNTED = 1000; // the server counts no further
const ICONS = { ok: "check", warn: "warn", bad: "cross" };

/* Queues and what is set aside: they say why something waits. */
function useCauses(wanted) {
  const queues = useApi(wanted ? "/queues" : null, (event) => event.type === "stats", 3000).data?.queues;
  const asides = useApi(wanted ? "/set-asides" : null, (event) => event.type === "set_aside").data?.set_asides;
  return [queues, asides];
}

/* "about 12 s", in steps that do not change with every event. */
function about(seconds) {
  if (seconds === null || seconds === undefined) return "";
  if (seconds < 1) return t("health.soon");
  const step = seconds < 10 ? 1 : seconds < 60 ? 5 : seconds < 600 ? 30 : 300;
  const round = Math.ceil(seconds / step) * step;
  return t("health.about", { time: round < 60 ? t("time.s", { n: round }) : f.seconds(round) });
}

/* Is it healthy, how long until a verdict, and why. */
export function Health() {
  const now = useNow();
  const [queues, asides] = useCauses(true);
  if (!now) return <div class="health" />;
  const state = health(now, queues, asides);
  const values = { n: f.count(state.n), time: about(state.seconds), oldest: f.seconds(now.oldest_s),
    rate: f.count(Math.round(now.finished_per_minute ?? 0)), verdict: f.ms(now.total_p50_ms) };
  const measured = typeof now.total_p50_ms === "number" && now.total_p50_ms > 0;
  return (
    <div class={`health ${state.tone}`}>
      <p>
        <Icon name={ICONS[state.tone]} />
        <b>{t(`health.${state.key}`)}</b>
        {state.key === "fine" && <span>{t(measured ? "health.verdict" : "health.idle", values)}</span>}
        {(state.key === "busy" || state.key === "late") && <span>
          {state.key === "late" && <>{t("health.oldest", values)} </>}
          {t("health.waiting", values)}{" "}{state.seconds !== null && t("health.new", values)}{" "}{state.full && t("health.full", { n: now.slots })}
        </span>}
      </p>
      {state.list.map((one) => (
        <p key={one.key} class={one.tone}><Icon name={ICONS[one.tone]} />
          <a href={one.href}>{t(`trouble.${one.key}`, { n: f.count(one.n), name: plain(one.name ?? "", 60) })}</a></p>
      ))}
    </div>
  );
}

/* Why a submission waits and how long yet. */
export function Waiting({ row }) {
  const now = useNow();
  const [queues, asides] = useCauses(can("read"));
  const why = held(row, now, queues, asides);
  if (why) return <p class="why late">{t(`held.${why}`, { language: plain(row.language ?? "", 40) })}</p>;
  const ahead = row.queue_position;
  const time = ahead === undefined || !now ? "" : about(waitFor(ahead, now));
  return (
    <p class="why">
      {ahead === undefined ? t("why.pending") : ahead === 0 ? t("why.next")
        : t(ahead < COUNTED ? "why.position" : "why.many", { n: f.count(ahead) })}
      {time && ` ${t("why.time", { time })}`}
    </p>
  );
}

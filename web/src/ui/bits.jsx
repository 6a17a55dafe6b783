// bits.jsx - the small parts that pages are made of.
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../core/i18n.js";
import * as f from "../core/format.js";
import { clip, pieces, plain } from "../core/visible.js";
import { Icon } from "./icons.jsx";

/* A name that came from outside: isolated in its direction, odd characters by name, never too long. */
export function Name({ value, max = 60, class: more }) {
  if (value === undefined || value === null || value === "") return <span class="muted">–</span>;
  const whole = String(value);
  const shown = plain(whole, max);
  return <bdi class={more} title={shown === whole ? undefined : plain(whole, 400)}>{shown}</bdi>;
}

/* The beginning and the end of an id: ours begin with the time, so that neighbours differ at the end. */
export function Id({ value }) {
  const whole = plain(value, 200);
  return <bdi title={whole.length > 16 ? whole : undefined}>{whole.length > 16 ? `${whole.slice(0, 5)}…${whole.slice(-8)}` : whole}</bdi>;
}

/* Text of a program, compiler or checker. */
export function Text({ value, label, max, line, wrap = true, class: more = "" }) {
  const { text, cut } = clip(String(value ?? ""), max, line);
  return (
    <figure class={`text ${more}`}>
      <pre class={wrap ? "wrap" : ""} tabIndex={0} role="region" aria-label={label} dir="ltr">
        <bdi>{pieces(text).map((p, i) => (p.odd === undefined ? p.text : <span key={i} class="odd">{p.odd}</span>))}</bdi>
      </pre>
      {cut > 0 && <figcaption class="muted">{t("text.cut", { n: f.count(cut) })}</figcaption>}
    </figure>
  );
}

/* A moment as an age; the moment itself on hover. */
export function Ago({ at, now }) {
  if (!at) return <span class="muted">–</span>;
  return <time dateTime={at} title={f.moment(at)}>{f.ago(at, now)}</time>;
}

/* A number with a bar that says how much of its limit it is. */
export function Meter({ value, limit, text, label }) {
  if (typeof value !== "number") return <span class="meter muted">–</span>;
  const part = limit ? Math.min(1, value / limit) : 0;
  return (
    <span class={`meter ${part >= 1 ? "over" : part >= 0.8 ? "near" : ""}`} title={limit ? label : undefined}>
      <span class="num">{text}</span>
      <span class="meter-bar" aria-hidden="true">{limit ? <i style={{ width: `${Math.max(2, part * 100)}%` }} /> : null}</span>
    </span>
  );
}

/* Slots of a judge: filled where busy. */
export function Slots({ busy = 0, total = 0 }) {
  const label = t("judges.slots", { busy, total });
  if (total > 64) return <span class="num">{label}</span>;
  return (
    <span class="slots" role="img" aria-label={label} title={label}>
      {Array.from({ length: total }, (_, i) => <i key={i} class={i < busy ? "on" : ""} />)}
    </span>
  );
}

export function Skeleton({ rows = 6, class: more = "" }) {
  return (
    <div class={`skeleton ${more}`} role="status" aria-label={t("loading")}>
      {Array.from({ length: rows }, (_, i) => <i key={i} style={{ width: `${94 - ((i * 37) % 40)}%` }} />)}
    </div>
  );
}

export function Empty({ icon = "info", title, children }) {
  return (
    <div class="empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/* Why something could not be read or done, and the way on. */
export function sentence(error) {
  if (!error) return "";
  if (error.status === 0) return t("error.unreachable");
  if (error.status === 403) return t("error.forbidden");
  if (error.status === 429) return t("error.slow");
  return plain(error.message || error.code || String(error), 600);
}

export function Failed({ error, reload }) {
  return (
    <div class="failed" role="alert">
      <Icon name="warn" />
      <p>{sentence(error)}</p>
      {reload && <button class="button" onClick={reload}>{t("again")}</button>}
    </div>
  );
}

/* A fetched thing: its failure, its skeleton, or its content. */
export function Loaded({ from, rows, children }) {
  if (from.data) return children(from.data);
  if (from.error) return <Failed error={from.error} reload={from.reload} />;
  return <Skeleton rows={rows} />;
}

export function Panel({ title, side, children, class: more = "", id }) {
  return (
    <section class={`panel ${more}`} aria-labelledby={id ? `${id}-title` : undefined}>
      {(title || side) && (
        <header class="panel-head">
          {title && <h2 id={id ? `${id}-title` : undefined}>{title}</h2>}
          {side && <div class="panel-side">{side}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

/* A button for something that takes a moment; it cannot be pressed twice. */
export function Action({ icon, run, class: more = "", children, ...rest }) {
  const [busy, set] = useState(false);
  const alive = useRef(true);
  useEffect(() => () => { alive.current = false; }, []);
  const press = async () => {
    if (busy) return;
    set(true);
    try {
      await run();
    } finally {
      if (alive.current) set(false);
    }
  };
  return (
    <button class={`button ${more}`} onClick={press} aria-busy={busy} disabled={busy} {...rest}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

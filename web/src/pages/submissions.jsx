// submissions.jsx - the list: filters are the address, j and k walk, enter opens, / searches.
import { useEffect, useRef, useState } from "preact/hooks";
import { get, query } from "../core/api.js";
import { t, useLang } from "../core/i18n.js";
import { useApi, useClock, useEvents, useKeys, useTitle } from "../core/hooks.js";
import { useFrame } from "../core/frame.js";
import { go } from "../core/route.js";
import { Rows } from "../core/rows.js";
import { can } from "../core/me.js";
import { Action, Empty, Failed, Panel, Skeleton } from "../ui/bits.jsx";
import { attempt } from "../ui/dialogs.jsx";
import { Field, filtersOf } from "../ui/filters.jsx";
import { Icon } from "../ui/icons.jsx";
import { RowTable } from "../ui/rowtable.jsx";
import { VerdictIcon, verdictName } from "../ui/verdict.jsx";

const PAGE = 50;
const MOST = 2000; // rows in one table; then a filter serves better than scrolling
const VERDICTS = ["AC", "WA", "TLE", "MLE", "OLE", "RTE", "CE"];
const STATES = ["PENDING", "RUNNING", "SYSTEM_ERROR", "DLQ", "CANCELLED"];
const NAMES = ["verdict", "status", "problem", "language", "user", "worker_id", "contest", "kind", "since", "until"];

function change(filters, name, value) {
  const next = { ...filters, [name]: value };
  if (name === "verdict" && value) delete next.status;
  if (name === "status" && value) delete next.verdict;
  go(`/submissions${query(next)}`, true);
}

function Filters({ filters }) {
  const problems = useApi("/problems").data?.problems?.map((one) => one.id) ?? [];
  const languages = useApi("/languages").data?.languages?.map((one) => one.slug) ?? [];
  const set = (name, value) => change(filters, name, value);
  const toggle = (name, value) => (
    <button key={value} class="toggle" aria-pressed={filters[name] === value}
      onClick={() => change(filters, name, filters[name] === value ? "" : value)}>
      <VerdictIcon verdict={value} />{verdictName(value)}
    </button>
  );
  return (
    <div class="filters" role="search" aria-label={t("filter.label")}>
      <div class="toggles">
        {VERDICTS.map((one) => toggle("verdict", one))}
        {STATES.map((one) => toggle("status", one))}
      </div>
      <div class="fields">
        <Field name="problem" filters={filters} list={problems} search change={set} />
        <Field name="language" filters={filters} list={languages} change={set} />
        <Field name="user" filters={filters} change={set} />
        <Field name="worker_id" filters={filters} change={set} />
        {Object.keys(filters).length > 0 &&
          <button class="button" onClick={() => go("/submissions", true)}><Icon name="cross" />{t("filter.clear")}</button>}
      </div>
    </div>
  );
}

/* Could this new submission belong into the list that is shown? */
function fits(event, filters) {
  return event.type === "status_change" && event.status === "PENDING" && !filters.verdict && !filters.until &&
    (!filters.status || filters.status === "PENDING") &&
    ["problem", "language", "user"].every((n) => !filters[n] || filters[n] === event[n]);
}

function walk(by) {
  const links = [...document.querySelectorAll("table.rows .id a")];
  const at = links.indexOf(document.activeElement);
  const next = links[Math.min(links.length - 1, Math.max(0, at < 0 ? (by > 0 ? 0 : links.length - 1) : at + by))];
  next?.focus();
  next?.closest("tr").scrollIntoView({ block: "nearest" });
}

function useList(filters) {
  const address = `/submissions${query({ ...filters, limit: PAGE })}`;
  const rows = useRef(null);
  const [more, setMore] = useState(null);
  const [fresh, setFresh] = useState(0);
  const draw = useFrame();
  const first = useApi(address, undefined, 2000);
  const loaded = useRef(null);
  const shown = useRef(null);
  if (shown.current !== address) {
    shown.current = address;
    rows.current = new Rows(MOST);
  }
  /* A refresh brings the first page up to date; what was loaded below it stays. */
  if (first.data && loaded.current !== first.data) {
    loaded.current = first.data;
    const below = rows.current.list().slice(first.data.submissions.length);
    const ids = new Set(first.data.submissions.map((one) => one.submit_id));
    rows.current.load([...first.data.submissions, ...(more ? below.filter((one) => !ids.has(one.submit_id)) : [])]);
  }
  useEffect(() => { setMore(null); setFresh(0); }, [address]);
  useEvents((event) => {
    if (rows.current.map.has(event.submit_id)) rows.current.apply(event) && draw();
    else if (fits(event, filters)) setFresh((n) => n + 1);
  });
  const cursor = more ? more.cursor : first.data?.next_cursor;
  const loadMore = () => attempt(async () => {
    const page = await get(`${address}&cursor=${encodeURIComponent(cursor)}`);
    rows.current.load([...rows.current.list(), ...page.submissions]);
    setMore({ cursor: page.next_cursor });
  });
  const renew = () => { setFresh(0); first.reload(); scrollTo(0, 0); };
  return { first, rows: rows.current.list(), fresh, cursor: rows.current.map.size < MOST && cursor, loadMore, renew };
}

export function SubmissionsPage({ params }) {
  const words = useLang();
  const filters = filtersOf(params, NAMES);
  const { first, rows, fresh, cursor, loadMore, renew } = useList(filters);
  const now = useClock();
  useTitle(t("nav.submissions"));
  useKeys({
    j: () => walk(1),
    k: () => walk(-1),
    "/": () => document.querySelector("[data-search]")?.focus(),
  });
  return (
    <>
      <h1>{t("nav.submissions")}</h1>
      <Filters filters={filters} />
      <Panel>
        {fresh > 0 && <button class="pill" onClick={renew}><Icon name="up" />{t("rows.new", { n: fresh })}</button>}
        {first.error && first.data && <Failed error={first.error} reload={first.reload} />}
        {!first.data ? (first.error ? <Failed error={first.error} reload={first.reload} /> : <Skeleton rows={14} />)
          : rows.length ? <RowTable rows={rows} now={now} full words={words} label={t("nav.submissions")} />
            : <NoRows filtered={Object.keys(filters).length > 0} />}
        {cursor && <div class="more"><Action run={loadMore}>{t("rows.more")}</Action></div>}
      </Panel>
      <p class="hint"><kbd>j</kbd> <kbd>k</kbd> {t("hint.walk")} · <kbd>enter</kbd> {t("hint.open")} · <kbd>/</kbd> {t("hint.search")}</p>
    </>
  );
}

function NoRows({ filtered }) {
  if (filtered) {
    return (
      <Empty icon="search" title={t("rows.none")}>
        <p><button class="button" onClick={() => go("/submissions", true)}>{t("filter.clear")}</button></p>
      </Empty>
    );
  }
  return (
    <Empty icon="play" title={t("live.empty")}>
      <p>{t("live.emptyHow")}</p>
      {can("submit") && <p><a class="button primary" href="/submit">{t("nav.submit")}</a></p>}
    </Empty>
  );
}

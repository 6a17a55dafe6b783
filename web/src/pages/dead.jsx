// dead.jsx - submissions that no judge could judge: why, and what to do with them.
import { get, post, query, seg } from "../core/api.js";
import * as f from "../core/format.js";
import { t } from "../core/i18n.js";
import { useApi, useClock, useKeys, useTitle } from "../core/hooks.js";
import { can } from "../core/me.js";
import { go } from "../core/route.js";
import { plain } from "../core/visible.js";
import { Action, Ago, Empty, Id, Loaded, Name, Panel } from "../ui/bits.jsx";
import { ask, attempt, say } from "../ui/dialogs.jsx";
import { Field, filtersOf } from "../ui/filters.jsx";
import { Icon } from "../ui/icons.jsx";

const PAGE = 200;
const MOST = 10000; // in one call
const NAMES = ["problem", "language", "user", "worker_id"];

const matches = (one, q) => !q || [one.submit_id, one.error].some((text) => String(text ?? "").toLowerCase().includes(q.toLowerCase()));

/* What the server shall take: its own filters or all; for the text of an error, which it does not look into,
 * the ids of those that have it. */
async function chosen(filters, q) {
  if (!q) return Object.keys(filters).length ? filters : { all: true };
  const ids = [];
  let cursor;
  do {
    const page = await get(`/dead-letters${query({ ...filters, limit: PAGE, cursor })}`);
    ids.push(...page.dead_letters.filter((one) => matches(one, q)).map((one) => one.submit_id));
    cursor = page.next_cursor;
  } while (cursor && ids.length < MOST);
  return { submit_ids: ids.slice(0, MOST) };
}

function Bulk({ filters, q, reload }) {
  const all = async (verb) => {
    await attempt(async () => {
      const which = await chosen(filters, q);
      const { count } = await post(`/dead-letters/${verb}`, { ...which, dry_run: true });
      const words = [...Object.values(filters), q].filter(Boolean).map((one) => plain(one, 60)).join(", ");
      const sure = await ask({ title: t(`dead.${verb}All.ask`, { n: f.count(count) }), text: words ? t("dead.matching", { q: words }) : t(`dead.${verb}.text`),
        yes: t(`dead.${verb}All`), danger: verb === "discard" });
      if (!sure) return;
      const done = await post(`/dead-letters/${verb}`, which);
      say(t(`dead.${verb}All.done`, { n: f.count(done.count) }));
    });
    await reload();
  };
  const scope = q || Object.keys(filters).length ? "Match" : "All";
  return (
    <>
      <Action icon="retry" run={() => all("retry")}>{t(`dead.retry${scope}`)}</Action>
      <Action icon="trash" run={() => all("discard")}>{t(`dead.discard${scope}`)}</Action>
    </>
  );
}

function Row({ one, now, reload }) {
  const act = async (verb) => {
    if (verb === "discard" && !await ask({ title: t("dead.discard.ask", { id: one.submit_id }), text: t("dead.discard.text"), yes: t("dead.discard"), danger: true })) return;
    await attempt(() => post(`/dead-letters/${seg(one.submit_id)}/${verb}`), t(`dead.${verb}.done`, { id: one.submit_id }));
    await reload();
  };
  return (
    <tr data-id={one.submit_id}>
      <td class="num when"><Ago at={one.failed_at} now={now} /></td>
      <td class="id"><a href={`/submissions/${seg(one.submit_id)}`}><Id value={one.submit_id} /></a></td>
      <td class="mid"><Name value={one.problem} max={30} /></td>
      <td class="lo"><Name value={one.language} /></td>
      <td class="lo"><Name value={one.user} /></td>
      <td class="num lo">{t("dead.tries", { n: (one.attempts ?? 0) + (one.crashes ?? 0) })}</td>
      <td class="grow error-cell"><Name value={one.error} max={240} /></td>
      <td class="right nowrap">{can("admin") && <>
        <Action class="small" icon="retry" run={() => act("retry")} aria-label={`${t("dead.retry")} ${one.submit_id}`}>{t("dead.retry")}</Action>
        <Action class="small" icon="trash" run={() => act("discard")} aria-label={`${t("dead.discard")} ${one.submit_id}`}>{t("dead.discard")}</Action>
      </>}</td>
    </tr>
  );
}

export function DeadPage({ params }) {
  useTitle(t("nav.dead"));
  useKeys({ "/": () => document.querySelector("[data-search]")?.focus() });
  const q = params.q ?? "";
  const filters = filtersOf(params, NAMES);
  const filtered = q || Object.keys(filters).length > 0;
  const now = useClock();
  const from = useApi(`/dead-letters${query({ ...filters, limit: PAGE })}`, (event) => event.type === "status_change", 1000);
  const set = (name, value) => go(`/dead-letters${query({ ...filters, q, [name]: value })}`, true);
  return (
    <>
      <header class="page-head">
        <h1>{t("nav.dead")}</h1>
        <div class="actions">
          {can("admin") && from.data?.dead_letters.length > 0 && <Bulk filters={filters} q={q} reload={from.reload} />}
        </div>
      </header>
      <div class="filters" role="search" aria-label={t("filter.label")}>
        <div class="fields">
          <label class="field wide-field"><span>{t("dead.filter")}</span>
            <input name="q" defaultValue={q} onInput={(event) => set("q", event.currentTarget.value.trim())} spellcheck={false} autocomplete="off" maxLength={200} data-search /></label>
          {NAMES.map((name) => <Field key={name} name={name} filters={filters} change={set} />)}
          {filtered && <button class="button" onClick={() => go("/dead-letters", true)}><Icon name="cross" />{t("filter.clear")}</button>}
        </div>
      </div>
      <Panel>
        <Loaded from={from} rows={6}>
          {(data) => {
            const list = data.dead_letters.filter((one) => matches(one, q));
            if (!list.length) {
              return filtered ? <Empty icon="search" title={t("rows.none")} /> : <Empty icon="check" title={t("dead.none")}><p>{t("dead.noneText")}</p></Empty>;
            }
            return (
              <div class="scroll" tabIndex={-1}>
                <table class="rows" aria-label={t("nav.dead")}>
                  <thead>
                    <tr>
                      <th scope="col" class="num when">{t("dead.failed")}</th><th scope="col">{t("col.id")}</th><th scope="col" class="mid">{t("col.problem")}</th>
                      <th scope="col" class="lo">{t("col.language")}</th><th scope="col" class="lo">{t("col.user")}</th>
                      <th scope="col" class="num lo">{t("col.tries")}</th><th scope="col">{t("dead.error")}</th>
                      <th scope="col"><span class="sr">{t("actions")}</span></th>
                    </tr>
                  </thead>
                  <tbody>{list.map((one) => <Row key={one.submit_id} one={one} now={now} reload={from.reload} />)}</tbody>
                </table>
                {data.next_cursor && <p class="muted pad">{t("dead.more", { n: f.count(data.dead_letters.length) })}</p>}
              </div>
            );
          }}
        </Loaded>
      </Panel>
    </>
  );
}

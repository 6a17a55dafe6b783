// rowtable.jsx - submissions as a table; the same on the live page and in the list.
import { memo } from "../core/memo.js";
import * as f from "../core/format.js";
import { t } from "../core/i18n.js";
import { go } from "../core/route.js";
import { ran } from "../core/rows.js";
import { seg } from "../core/api.js";
import { Ago, Id, Meter, Name } from "./bits.jsx";
import { Chip, Strip } from "./verdict.jsx";

const href = (row) => `/submissions/${seg(row.submit_id)}`;

function open(event, row) {
  if (event.target.closest("a, button") || getSelection()?.toString()) return;
  go(href(row));
}

function wait(row, now) {
  if (!row.started_at) return row.status === "PENDING" ? f.ms(now - f.millis(row.created_at)) : "–";
  return f.ms(Math.max(0, f.between(row.created_at, row.started_at)));
}

/* Drawn again only when its submission changed or a second passed. */
const Line = memo(({ row, full, now }) => {
  const limit = row.limits ?? {};
  const tries = 1 + (row.attempts ?? 0) + (row.crashes ?? 0);
  return (
    <tr class={`row s-${row.status}`} data-id={row.submit_id} onClick={(event) => open(event, row)}>
      <td class="num when"><Ago at={row.created_at} now={now} /></td>
      <td class="id"><a href={href(row)}><Id value={row.submit_id} /></a></td>
      <td class="grow"><Name value={row.problem} max={40} /></td>
      <td class="lo"><Name value={row.language} max={16} /></td>
      <td class="lo"><Name value={row.user} max={20} /></td>
      <td class="verdict"><Chip row={row} /></td>
      <td class="tests"><Strip row={row} /></td>
      <td class="mid num"><Meter value={ran(row, row.time_ms)} limit={limit.time_ms} text={f.ms(row.time_ms)}
        label={t("meter.of", { value: f.ms(row.time_ms), limit: f.ms(limit.time_ms) })} /></td>
      <td class="mid num"><Meter value={ran(row, row.memory_kb)} limit={limit.memory_kb} text={f.kib(row.memory_kb)}
        label={t("meter.of", { value: f.kib(row.memory_kb), limit: f.kib(limit.memory_kb) })} /></td>
      <td class="lo"><Name value={row.worker_id} max={18} /></td>
      {full && <td class="lo num">{wait(row, now)}</td>}
      {full && <td class="lo num">{tries > 1 ? <b>{tries}</b> : <span class="muted">1</span>}</td>}
    </tr>
  );
}, (a, b) => a.row === b.row && a.now === b.now && a.words === b.words);

/* rows: Rows.list() */
export function RowTable({ rows, full, now, words, label }) {
  return (
    <div class="scroll" tabIndex={-1}>
      <table class="rows" aria-label={label}>
        <thead>
          <tr>
            <th scope="col" class="num when">{t("col.when")}</th>
            <th scope="col">{t("col.id")}</th>
            <th scope="col">{t("col.problem")}</th>
            <th scope="col" class="lo">{t("col.language")}</th>
            <th scope="col" class="lo">{t("col.user")}</th>
            <th scope="col" class="verdict">{t("col.verdict")}</th>
            <th scope="col" class="tests">{t("col.tests")}</th>
            <th scope="col" class="mid num">{t("col.time")}</th>
            <th scope="col" class="mid num">{t("col.memory")}</th>
            <th scope="col" class="lo">{t("col.judge")}</th>
            {full && <th scope="col" class="lo num">{t("col.wait")}</th>}
            {full && <th scope="col" class="lo num">{t("col.tries")}</th>}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => <Line key={row.submit_id} row={row} full={full} now={now} words={words} />)}
        </tbody>
      </table>
    </div>
  );
}

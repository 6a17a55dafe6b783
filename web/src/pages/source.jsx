// source.jsx - the program, the files that judging it left, and the raw JSON.
import { useState } from "preact/hooks";
import { getText, seg } from "../core/api.js";
import * as f from "../core/format.js";
import { t } from "../core/i18n.js";
import { can } from "../core/me.js";
import { tokens } from "../core/highlight.js";
import { clip, pieces } from "../core/visible.js";
import { Action, Name, Panel, Text } from "../ui/bits.jsx";
import { attempt, say } from "../ui/dialogs.jsx";
import { Icon } from "../ui/icons.jsx";

function copy(text) {
  return attempt(() => navigator.clipboard.writeText(text), t("copied"));
}

export function Source({ text, language }) {
  const { text: shown, cut } = clip(text, 200000, 4000);
  const lines = shown.split("\n").length;
  return (
    <Panel title={t("source.title")} id="source" side={<>
      <span class="num muted">{f.bytes(new Blob([text]).size)}</span>
      {navigator.clipboard && <Action icon="copy" class="small" run={() => copy(text)}>{t("copy")}</Action>}
    </>}>
      <div class="source" tabIndex={0} role="region" aria-label={t("source.title")}>
        <pre class="gutter num" aria-hidden="true">{Array.from({ length: lines }, (_, i) => i + 1).join("\n")}</pre>
        <pre class="code" dir="ltr">
          {tokens(shown, language).map((token, i) => (
            <span key={i} class={token.kind ? `k-${token.kind}` : undefined}>
              {pieces(token.text).map((p, k) => (p.odd === undefined ? p.text : <span key={k} class="odd">{p.odd}</span>))}
            </span>
          ))}
        </pre>
      </div>
      {cut > 0 && <p class="muted pad">{t("text.cut", { n: f.count(cut) })}</p>}
    </Panel>
  );
}

/* A log file: fetched when asked for, because a link could not send the key. */
export function LogLink({ id, name }) {
  const [text, set] = useState(null);
  const show = async () => {
    if (text !== null) return set(null);
    return attempt(async () => set(await getText(`/submissions/${seg(id)}/logs/${seg(name)}`)));
  };
  return (
    <span class="loglink">
      <Action class="small" icon={text === null ? "right" : "cross"} run={show} aria-expanded={text !== null}>{name}</Action>
      {text !== null && <Text value={text} label={name} />}
    </span>
  );
}

export function Files({ row, raw }) {
  const [open, set] = useState(false);
  const { source, ...rest } = raw;
  const json = open ? JSON.stringify(rest, null, 2) : "";
  const names = (row.logs ?? []).filter((name) => !/^case_/.test(name));
  const download = () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(raw, null, 2)], { type: "application/json" }));
    link.download = `${row.submit_id}.json`;
    link.click();
    URL.revokeObjectURL(link.href);
    say(t("saved"));
  };
  return (
    <Panel title={t("files.title")} id="files" side={<button class="button small" onClick={download}><Icon name="output" />JSON</button>}>
      {can("read") && names.length > 0 && <p class="logs pad">{names.map((name) => <LogLink key={name} id={row.submit_id} name={name} />)}</p>}
      <details class="log" onToggle={(e) => set(e.currentTarget.open)}>
        <summary>{t("files.raw")} <span class="muted"><Name value={`GET /api/v1/submissions/${row.submit_id}`} max={120} /></span></summary>
        {open && <Text value={json} label={t("files.raw")} />}
      </details>
    </Panel>
  );
}

// visible.js - text that a stranger's program wrote, made harmless to look at.
//
// Preact puts it into text nodes, so it is never markup. What is left to mend: control characters and
// escape sequences that show nothing or something else, marks that turn the direction of the page, invisible
// characters that hide a difference, and lines so long that laying them out takes seconds.

export const LINE_MAX = 2000;
export const TEXT_MAX = 64 * 1024;

// C0 but tab and newline, DEL, C1, bidi marks and embeddings, zero width, line separators, BOM, tags
const ODD =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udfff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

function name(odd) {
  const code = odd.codePointAt(0);
  if (code < 0xa0) return `\\x${code.toString(16).padStart(2, "0")}`;
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

/* Pieces of `text`: {text} as it is, {odd} the name of a character that would not be seen. */
export function pieces(text) {
  const out = [];
  let from = 0;
  for (const match of text.matchAll(ODD)) {
    if (match.index > from) out.push({ text: text.slice(from, match.index) });
    const last = out[out.length - 1];
    const odd = name(match[0]);
    if (last?.odd !== undefined && last.odd.length < 4096) last.odd += odd; // a run is one element
    else out.push({ odd });
    from = match.index + match[0].length;
  }
  if (from < text.length) out.push({ text: text.slice(from) });
  return out;
}

/* One short line for names in tables: odd characters by name, at most `max` characters. */
export function plain(text, max = 120) {
  const s = String(text ?? "").slice(0, max * 2).replace(/[\t\n]/g, " ").replace(ODD, name);
  const signs = [...s];
  return signs.length > max || String(text ?? "").length > max * 2 ? `${signs.slice(0, max - 1).join("")}…` : s;
}

/* Cut lines over LINE_MAX and the whole over TEXT_MAX; {text, cut: characters left out}. */
export function clip(text, whole = TEXT_MAX, line = LINE_MAX) {
  let cut = Math.max(0, text.length - whole);
  const kept = text.slice(0, whole).split("\n").map((one) => {
    if (one.length <= line) return one;
    cut += one.length - line;
    return `${one.slice(0, line)}…`;
  });
  return { text: kept.join("\n"), cut };
}

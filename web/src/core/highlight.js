// highlight.js - enough colour to read a program by: comments, texts, numbers, words of the language.
//
// One regular expression per family of languages, no grammar: what it gets wrong is a colour. The editor has
// real grammars but is loaded on the submit page only.

const C_LIKE = {
  comment: /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/,
  text: /"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?/,
};
const words = (text) => new Set(text.split(" "));

const CPP = words("alignas auto bool break case catch char class const constexpr continue default delete do double else enum explicit extern false final float for friend goto if inline int long namespace new noexcept nullptr operator override private protected public register return short signed sizeof static struct switch template this throw true try typedef typename union unsigned using virtual void volatile while size_t int64_t uint64_t int32_t string vector");
const FAMILIES = {
  cpp: { ...C_LIKE, meta: /^[ \t]*#[^\n]*/m, words: CPP },
  java: { ...C_LIKE, meta: /@\w+/, words: words("abstract boolean break byte case catch char class continue default do double else enum extends final finally float for if implements import instanceof int interface long new null package private protected public record return short static super switch synchronized this throw throws true false try var void volatile while") },
  js: { ...C_LIKE, text: /`(?:\\.|[^`\\])*`?|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?/, words: words("async await break case catch class const continue default delete do else export extends false finally for from function if import in instanceof let new null of return static super switch this throw true try typeof undefined var void while yield") },
  go: { ...C_LIKE, text: /`[^`]*`?|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?/, words: words("break bool byte case chan const continue default defer else error fallthrough false float64 for func go goto if import int int64 interface map nil package range return rune select string struct switch true type uint64 var") },
  rust: { ...C_LIKE, text: /"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\\n])'/, meta: /#!?\[[^\]]*\]/, words: words("as async await bool break const continue crate dyn else enum extern f64 false fn for i32 i64 if impl in let loop match mod move mut pub ref return self Self static str String struct super trait true type u32 u64 u8 unsafe use usize Vec where while") },
  python: { comment: /#[^\n]*/, text: /("""|''')[\s\S]*?(?:\1|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?/, meta: /@\w+/, words: words("and as assert async await break class continue def del elif else except False finally for from global if import in is lambda None nonlocal not or pass raise return True try while with yield print range len int str list dict set input map") },
  pascal: { comment: /\/\/[^\n]*|\{[\s\S]*?(?:\}|$)|\(\*[\s\S]*?(?:\*\)|$)/, text: /'[^'\n]*'?/, nocase: true, words: words("and array begin boolean case char const div do downto else end false file for function if in int64 integer longint mod nil not of or procedure program read readln real record repeat set shl shr string then to true type until uses var while with write writeln") },
};
const BY_START = [["cpp", "cpp"], ["c1", "cpp"], ["c9", "cpp"], ["java1", "java"], ["java2", "java"], ["javascript", "js"], ["node", "js"], ["typescript", "js"], ["java", "java"], ["go", "go"], ["rust", "rust"], ["py", "python"], ["pascal", "pascal"]];
const MOST = 200000; // beyond this it is shown without colours

export function familyOf(slug) {
  const found = BY_START.find(([start]) => (slug ?? "").startsWith(start));
  return found ? FAMILIES[found[1]] : null;
}

/* [{kind, text}…] that joined give `text`; kind is "", comment, text, meta, number or word. */
export function tokens(text, slug) {
  const family = familyOf(slug);
  if (!family || text.length > MOST) return [{ kind: "", text }];
  const group = (name, re) => (re ? `(?<${name}>${re.source})|` : "");
  const all = new RegExp(`${group("comment", family.comment)}${group("text", family.text).replace("\\1", "\\k<quote>").replace("(\"\"\"|''')", "(?<quote>\"\"\"|''')")}${group("meta", family.meta)}(?<number>\\b\\d[\\w.]*)|(?<word>[A-Za-z_]\\w*)`, "gm");
  const out = [];
  let from = 0;
  const push = (kind, piece) => {
    if (!piece) return;
    const last = out[out.length - 1];
    if (last?.kind === kind) last.text += piece;
    else out.push({ kind, text: piece });
  };
  for (const m of text.matchAll(all)) {
    push("", text.slice(from, m.index));
    const g = m.groups;
    const word = g.word !== undefined && family.words.has(family.nocase ? g.word.toLowerCase() : g.word);
    push(g.comment !== undefined ? "comment" : g.text !== undefined ? "text" : g.meta !== undefined ? "meta"
      : g.number !== undefined ? "number" : word ? "word" : "", m[0]);
    from = m.index + m[0].length;
  }
  push("", text.slice(from));
  return out;
}

// editor.js - CodeMirror, loaded by the submit page alone.
//
// It lives in a shadow root: there CodeMirror puts its styles into adopted sheets, which the page's
// Content-Security-Policy allows; in the page itself it would need inline styles.
import { EditorState, Compartment } from "@codemirror/state";
import { EditorView, keymap, lineNumbers, highlightActiveLine, drawSelection, highlightSpecialChars } from "@codemirror/view";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting, HighlightStyle, StreamLanguage } from "@codemirror/language";
import { tags } from "@lezer/highlight";
import { cpp } from "@codemirror/lang-cpp";
import { java } from "@codemirror/lang-java";
import { python } from "@codemirror/lang-python";
import { javascript } from "@codemirror/lang-javascript";
import { rust } from "@codemirror/lang-rust";
import { go } from "@codemirror/lang-go";
import { pascal } from "@codemirror/legacy-modes/mode/pascal";
import { kindOf } from "../core/starters.js";

const GRAMMARS = { c: cpp, cpp, java, python, javascript, rust, go, pascal: () => StreamLanguage.define(pascal) };

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.typeName, tags.controlKeyword], color: "var(--k-word)" },
  { tag: [tags.string, tags.character], color: "var(--k-text)" },
  { tag: [tags.number, tags.bool], color: "var(--k-number)" },
  { tag: tags.comment, color: "var(--k-comment)", fontStyle: "italic" },
  { tag: [tags.meta, tags.processingInstruction], color: "var(--k-meta)" },
]);

const look = EditorView.theme({
  "&": { height: "100%", fontSize: "13px", color: "var(--text)", backgroundColor: "var(--surface)" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--muted)", border: "none", paddingLeft: "4px" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused": { outline: "none" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection) !important" },
});

/* An editor inside `host`. {text(), set(text, slug), focus(), destroy()}; onSubmit runs on Ctrl+Enter. */
export function edit(host, { text, slug, label, onChange, onSubmit }) {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const grammar = new Compartment();
  const language = (name) => GRAMMARS[kindOf(name)]?.() ?? [];
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(), highlightActiveLine(), highlightSpecialChars(), drawSelection(), history(), bracketMatching(), indentOnInput(),
        indentUnit.of("    "), syntaxHighlighting(colours), look, grammar.of(language(slug)),
        keymap.of([{ key: "Mod-Enter", run: () => { onSubmit(); return true; } }, indentWithTab, ...defaultKeymap, ...historyKeymap]),
        EditorView.contentAttributes.of({ "aria-label": label }),
        EditorView.updateListener.of((update) => update.docChanged && onChange(update.state.doc.toString())),
      ],
    }),
  });
  return {
    set(next, name) {
      view.dispatch({ effects: grammar.reconfigure(language(name)),
        ...(next === view.state.doc.toString() ? {} : { changes: { from: 0, to: view.state.doc.length, insert: next } }) });
    },
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}

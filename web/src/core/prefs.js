// prefs.js - what this browser remembers: theme, language, the API key.
//
// Storage can be switched off by the browser; then choices last as long as the tab.

const memory = new Map();

function read(store, name) {
  try {
    return store().getItem(`tribunal.${name}`);
  } catch {
    return memory.get(name) ?? null;
  }
}

function write(store, name, value) {
  try {
    if (value === null) store().removeItem(`tribunal.${name}`);
    else store().setItem(`tribunal.${name}`, value);
  } catch {
    memory.set(name, value);
  }
}

const local = () => localStorage;
const session = () => sessionStorage;

export const themes = ["auto", "light", "dark"];

export function theme() {
  const value = read(local, "theme");
  return themes.includes(value) ? value : "auto";
}

export function applyTheme() {
  const value = theme();
  if (value === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = value;
}

export function setTheme(value) {
  write(local, "theme", value);
  applyTheme();
}

export const language = () => read(local, "language");
export const setLanguage = (value) => write(local, "language", value);

/* The key lives in this tab only, unless its owner asked to be remembered. */
export const apiKey = () => read(session, "key") ?? read(local, "key");

export function setApiKey(value, remember) {
  write(session, "key", value);
  write(local, "key", remember ? value : null);
}

/* `tribunal serve` prints an address that ends in #key=…: the server never sees that part. Take the key, and
 * take it out of the address, so that it is neither in the history nor in a copied link. */
export function keyFromAddress() {
  const key = new URLSearchParams(location.hash.slice(1)).get("key");
  if (!key) return;
  setApiKey(key, false);
  history.replaceState(null, "", location.pathname + location.search);
}

/* What was typed on the submit page for a problem and a language, so that a reload loses nothing. */
export const draft = (problem, lang) => read(session, `draft.${problem}.${lang}`);
export const setDraft = (problem, lang, code) => write(session, `draft.${problem}.${lang}`, code);

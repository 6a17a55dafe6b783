// i18n.js - two languages, one file of words each.
import { useEffect, useState } from "preact/hooks";
import * as prefs from "./prefs.js";
import en from "../lang/en.json";
import zh from "../lang/zh.json";

export const languages = { en: "English", zh: "中文" };
const words = { en, zh };
const listeners = new Set();

let current = words[prefs.language()] ? prefs.language()
  : navigator.languages?.some((one) => /^zh\b/i.test(one)) && !/^en\b/i.test(navigator.language) ? "zh" : "en";

export const lang = () => current;
export const locale = () => (current === "zh" ? "zh-CN" : "en-GB");

export function setLang(next) {
  current = next;
  prefs.setLanguage(next);
  document.documentElement.lang = next === "zh" ? "zh-CN" : "en";
  for (const fn of listeners) fn();
}

/* The words for `key` with {name} filled in. "key.one" is taken where n is 1 and such a key exists. */
export function t(key, values) {
  const book = words[current];
  let text = String(values?.n) === "1" && book[`${key}.one`] !== undefined ? book[`${key}.one`] : book[key];
  if (text === undefined) return key;
  if (values) text = text.replace(/\{(\w+)\}/g, (all, name) => (name in values ? String(values[name]) : all));
  return text;
}

/* Whether there are words for a key that was put together from data. */
export const has = (key) => words[current][key] !== undefined;

/* Draw again when the language changes. */
export function useLang() {
  const [, set] = useState(0);
  useEffect(() => {
    const update = () => set((n) => n + 1);
    listeners.add(update);
    return () => listeners.delete(update);
  }, []);
  return current;
}

document.documentElement.lang = current === "zh" ? "zh-CN" : "en";

// format.js - numbers, durations and moments as people read them, in tabular form.
import { locale, t } from "./i18n.js";

const NONE = "–";

export function count(n) {
  return typeof n === "number" ? n.toLocaleString(locale()) : NONE;
}

export function decimal(n, digits = 1) {
  if (typeof n !== "number" || !isFinite(n)) return NONE;
  return n.toLocaleString(locale(), { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/* 12 ms, 1.25 s, 3:07, 2 h 05 */
export function ms(value) {
  if (typeof value !== "number" || !isFinite(value)) return NONE;
  if (value < 1 && value > 0) return `${value.toFixed(1)} ms`;
  if (value < 1000) return `${Math.round(value)} ms`;
  if (value < 10000) return `${(value / 1000).toFixed(2)} s`;
  if (value < 60000) return `${(value / 1000).toFixed(1)} s`;
  const s = Math.floor(value / 1000);
  if (s < 3600) return `${Math.floor(s / 60)} min ${String(s % 60).padStart(2, "0")}`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${String(Math.floor((s % 3600) / 60)).padStart(2, "0")}`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

export const seconds = (value) => (typeof value === "number" ? ms(value * 1000) : NONE);

/* KiB as the judge measures */
export function kib(value) {
  if (typeof value !== "number") return NONE;
  if (value < 1024) return `${value} KiB`;
  if (value < 1024 * 1024) return `${(value / 1024).toFixed(value < 10240 ? 1 : 0)} MiB`;
  return `${(value / 1048576).toFixed(1)} GiB`;
}

export function bytes(value) {
  if (typeof value !== "number") return NONE;
  return value < 1024 ? `${value} B` : kib(value / 1024 < 10 ? Math.round(value / 102.4) / 10 : Math.round(value / 1024));
}

export const millis = (moment) => (moment ? Date.parse(moment) : NaN);

/* "5 s", "3 min": how long ago; the full moment belongs into a title */
export function ago(moment, now = Date.now()) {
  const at = typeof moment === "number" ? moment : millis(moment);
  if (!isFinite(at)) return NONE;
  const s = Math.max(0, (now - at) / 1000);
  if (s < 2) return t("time.now");
  if (s < 60) return t("time.s", { n: Math.floor(s) });
  if (s < 3600) return t("time.min", { n: Math.floor(s / 60) });
  if (s < 86400) return t("time.h", { n: Math.floor(s / 3600) });
  return t("time.d", { n: Math.floor(s / 86400) });
}

export function moment(value) {
  const at = millis(value);
  if (!isFinite(at)) return NONE;
  return new Date(at).toLocaleString(locale(), { dateStyle: "medium", timeStyle: "medium" });
}

export function clock(value) {
  const at = millis(value);
  if (!isFinite(at)) return NONE;
  const d = new Date(at);
  const two = (n) => String(n).padStart(2, "0");
  return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}.${String(d.getMilliseconds()).padStart(3, "0")}`;
}

/* Between two moments in ms, or NaN */
export const between = (from, to) => millis(to) - millis(from);

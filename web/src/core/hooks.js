// hooks.js - how pages read: fetch, show what is there, read again when an event says so.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { get } from "./api.js";
import { listen } from "./events.js";

const RETRY_MS = 3000; // a server that was away or too busy

/* Read `path` (null: nothing to read). Reads again on `refresh` and on the events `when(event)` wants,
 * at most every `gap` ms. What was read stays on screen while it is read again or cannot be. */
export function useApi(path, when = () => false, gap = 700) {
  const [state, set] = useState({ data: null, error: null, path });
  const run = useRef(null);
  const want = useRef(when);
  want.current = when;

  useEffect(() => {
    if (!path) return undefined;
    let abort = null;
    let timer = 0;
    let last = -Infinity;
    let dead = false;
    const load = async () => {
      timer = 0;
      last = performance.now();
      abort?.abort();
      const mine = (abort = new AbortController());
      try {
        const data = await get(path, mine.signal);
        if (!dead && mine === abort) set({ data, error: null, path });
      } catch (error) {
        if (!dead && mine === abort && error.name !== "AbortError") {
          set((old) => ({ data: old.path === path ? old.data : null, error, path }));
          if (error.status === 0 || error.status >= 429) soon(RETRY_MS);
        }
      }
      if (mine === abort) abort = null;
    };
    const soon = (after = gap) => {
      if (!timer) timer = setTimeout(load, Math.max(0, last + after - performance.now()));
    };
    run.current = load;
    load();
    const end = listen((event) => {
      if (event.type === "refresh" || want.current(event)) soon();
    });
    return () => {
      dead = true;
      end();
      clearTimeout(timer);
      abort?.abort();
    };
  }, [path]);

  const reload = useCallback(() => run.current?.(), []);
  const patch = useCallback((fn) => set((old) => (old.data ? { ...old, data: fn(old.data) } : old)), []);
  const current = state.path === path ? state : { data: null, error: null };
  return { ...current, reload, patch };
}

/* Draw again every `every` ms: for ages. Stops in a hidden tab. */
export function useClock(every = 1000) {
  const [now, set] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || set(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}

/* Call fn with every event while the component is there. */
export function useEvents(fn) {
  const ref = useRef(fn);
  ref.current = fn;
  useEffect(() => listen((event) => ref.current(event)), []);
}

export function useTitle(title) {
  useEffect(() => {
    document.title = title ? `${title} · Tribunal` : "Tribunal";
  }, [title]);
}

/* keys({j: fn, "/": fn}): single keys while nobody is typing. */
export function useKeys(keys) {
  const ref = useRef(keys);
  ref.current = keys;
  useEffect(() => {
    const press = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const target = event.composedPath()[0];
      if (target.closest?.("input, textarea, select, [contenteditable], dialog")) return;
      if (event.key === "Enter" && target.closest?.("a, button, summary")) return;
      const fn = ref.current[event.key];
      if (fn) {
        event.preventDefault();
        fn(event);
      }
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
}

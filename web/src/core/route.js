// route.js - addresses: /submissions?verdict=WA is a page and its filters, nothing else is.
import { useEffect, useState } from "preact/hooks";

const listeners = new Set();

export function here() {
  return {
    path: location.pathname,
    parts: location.pathname.split("/").filter(Boolean).map(decode),
    params: Object.fromEntries(new URLSearchParams(location.search)),
  };
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function changed() {
  for (const fn of listeners) fn();
}

export function go(href, replace = false) {
  if (href === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", href);
  if (!replace) scrollTo(0, 0);
  changed();
}

export function useRoute() {
  const [route, set] = useState(here);
  useEffect(() => {
    const update = () => set(here());
    listeners.add(update);
    return () => listeners.delete(update);
  }, []);
  return route;
}

addEventListener("popstate", changed);

/* Plain links stay plain links: this takes over only a plain click on an address of ours. */
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey ||
      event.altKey || link.target || link.hasAttribute("download") || link.origin !== location.origin ||
      link.pathname.startsWith("/api/") || link.hash) return;
  event.preventDefault();
  go(link.pathname + link.search);
});

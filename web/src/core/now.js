// now.js - the server's numbers of this second, for the head of every page and the live page.
import { useEffect, useState } from "preact/hooks";
import { get } from "./api.js";
import { listen } from "./events.js";
import { can } from "./me.js";

const listeners = new Set();
let now = null;

function become(next) {
  now = next;
  for (const fn of listeners) fn(now);
}

listen(async (event) => {
  if (event.type === "stats") become(event.now ?? event);
  else if (event.type === "refresh" && can("read")) {
    try {
      become((await get("/stats?minutes=1")).now);
    } catch {
      // the next one will tell
    }
  }
});

export function useNow() {
  const [value, set] = useState(now);
  useEffect(() => {
    set(now);
    listeners.add(set);
    return () => listeners.delete(set);
  }, []);
  return value;
}

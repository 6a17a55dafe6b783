// me.js - who is looking: the role decides what is offered; the server decides what is done.
import { useEffect, useState } from "preact/hooks";
import { get, onUnauthorized } from "./api.js";
import { setApiKey } from "./prefs.js";
import { restart, start, stop } from "./events.js";

const RANK = { none: 0, submit: 1, read: 2, admin: 3 };
const listeners = new Set();
let me = { role: null }; // null: not asked yet

function become(next) {
  me = next;
  for (const fn of listeners) fn(me);
}

export const can = (role) => (RANK[me.role] ?? 0) >= RANK[role];

/* Ask the server; a server that is away is asked again until it answers. */
export async function whoami() {
  try {
    become(await get("/whoami"));
    if (can("read")) start();
    else stop();
  } catch (error) {
    if (error.status === 401) become({ role: "none" });
    else setTimeout(whoami, 1500);
  }
}

/* Take this key if the server does; throws what it said otherwise. */
export async function login(key, remember) {
  setApiKey(key, remember);
  try {
    const answer = await get("/whoami");
    if (answer.role === "none") throw Object.assign(new Error(), { status: 401 });
    become(answer);
    if (can("read")) restart();
  } catch (error) {
    setApiKey(null, false);
    throw error;
  }
}

export function logout() {
  setApiKey(null, false);
  stop();
  become({ role: null });
  whoami();
}

export function useMe() {
  const [value, set] = useState(me);
  useEffect(() => {
    set(me);
    listeners.add(set);
    return () => listeners.delete(set);
  }, []);
  return value;
}

onUnauthorized(() => {
  if (me.role && me.role !== "none") whoami();
});

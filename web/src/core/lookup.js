// lookup.js - who sent it and when, of submissions that were first heard of when their turn came.
//
// Events after the first one do not say it. Behind a long queue most of what moves was sent before the page
// was opened; a few are asked for at a time, and on a flood some are left without.
import { useEffect, useRef } from "preact/hooks";
import { get, seg } from "./api.js";

const AT_ONCE = 2;
const QUEUED = 20;

/* A function that completes the row of a submission in `rows` (core/rows.js) and calls draw(). */
export function useLookup(rows, draw) {
  const todo = useRef([]);
  const busy = useRef(0);
  const abort = useRef(null);
  useEffect(() => {
    abort.current = new AbortController();
    return () => abort.current.abort();
  }, []);
  const work = async () => {
    busy.current++;
    try {
      for (let id = todo.current.shift(); id && !abort.current.signal.aborted; id = todo.current.shift()) {
        const { created_at, user } = await get(`/submissions/${seg(id)}`, abort.current.signal);
        if (rows.complete(id, { created_at, user })) draw();
      }
    } catch {
      // a dash stays; whatever is wrong the page says elsewhere
    } finally {
      busy.current--;
    }
  };
  return useRef((id) => {
    if (todo.current.length >= QUEUED) todo.current.shift();
    todo.current.push(id);
    if (busy.current < AT_ONCE) work();
  }).current;
}

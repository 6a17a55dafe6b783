// hydrate.js - the tests of rows that the list told too little about: fetched one by one, few at a time.
//
// Rows that were seen being judged have them from the events; this is for those that were there before.
import { useEffect } from "preact/hooks";
import { get, seg } from "./api.js";
import { stripOf } from "./rows.js";

const AT_ONCE = 3;
const MOST = 50; // for one reading of a list

const needs = (row) => row.status === "FINISHED" && row.strip === undefined && row.verdict !== "CE";

/* Fill in `rows` (core/rows.js) after each reading `data` of the list; draw() when some came. */
export function useHydrate(rows, data, draw) {
  useEffect(() => {
    const abort = new AbortController();
    const todo = rows.list().filter(needs).slice(0, MOST);
    const work = async () => {
      for (let row = todo.shift(); row && !abort.signal.aborted; row = todo.shift()) {
        const { result } = await get(`/submissions/${seg(row.submit_id)}`, abort.signal);
        const now = rows.map.get(row.submit_id);
        if (!result || now?.status !== "FINISHED") continue;
        rows.map.set(row.submit_id, { ...now, strip: stripOf(result.cases, result.total_test), limits: result.limits,
          accepted_test: result.accepted_test, total_test: result.total_test });
        draw();
      }
    };
    /* A failure here leaves a bar out; whatever is wrong the page says elsewhere. */
    Promise.all(Array.from({ length: AT_ONCE }, work)).catch(() => {});
    return () => abort.abort();
  }, [data]);
}

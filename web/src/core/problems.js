// problems.js - the limits of problems, for the bars of rows that do not carry their own.
import { useMemo } from "preact/hooks";
import { useApi } from "./hooks.js";

/* A function row => {time_ms, memory_kb}; the language's factors are left out, so it is a lower bound. */
export function useLimits() {
  const { data } = useApi("/problems", (event) => event.type === "problem", 5000);
  return useMemo(() => {
    const table = new Map((data?.problems ?? []).map((one) => [one.id, {
      time_ms: one.time_limit, memory_kb: one.memory_limit ? one.memory_limit * 1024 : undefined,
    }]));
    return (row) => table.get(row.problem);
  }, [data]);
}

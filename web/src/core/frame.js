// frame.js - many events, one drawing: at most ten per second, fewer where drawing takes long.
import { useEffect, useRef, useState } from "preact/hooks";

const GAP_MS = 100;
const GAP_MOST_MS = 2000;
const SHARE = 4; // drawing has a fifth of the time at most, so that a slow machine still answers its user

export const gapAfter = (cost) => Math.min(GAP_MOST_MS, Math.max(GAP_MS, SHARE * cost));

export function useFrame() {
  const [, set] = useState(0);
  const timer = useRef(0);
  const frame = useRef(0);
  const gap = useRef(GAP_MS);
  useEffect(() => () => {
    clearTimeout(timer.current);
    cancelAnimationFrame(frame.current);
  }, []);
  const paint = () => {
    const from = performance.now();
    set((n) => n + 1);
    /* The frame after the next task: drawn, laid out and painted. */
    frame.current = requestAnimationFrame(() => setTimeout(() => { gap.current = gapAfter(performance.now() - from); }));
  };
  return useRef(() => {
    if (timer.current) return;
    timer.current = setTimeout(() => {
      timer.current = 0;
      frame.current = requestAnimationFrame(paint);
    }, gap.current);
  }).current;
}

// frame.js - many events, one drawing: at most one per frame and ten per second.
import { useEffect, useRef, useState } from "preact/hooks";

const GAP_MS = 100;

export function useFrame() {
  const [, set] = useState(0);
  const timer = useRef(0);
  const frame = useRef(0);
  useEffect(() => () => {
    clearTimeout(timer.current);
    cancelAnimationFrame(frame.current);
  }, []);
  return useRef(() => {
    if (timer.current) return;
    timer.current = setTimeout(() => {
      timer.current = 0;
      frame.current = requestAnimationFrame(() => set((n) => n + 1));
    }, GAP_MS);
  }).current;
}

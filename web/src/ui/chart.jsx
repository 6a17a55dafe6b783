// chart.jsx - a series over time with uPlot, in the colours of the theme.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

/* A colour of the theme as a canvas takes it; the variable itself holds one for each theme. */
function color(name, share = 1) {
  const probe = document.createElement("i");
  probe.style.color = `color-mix(in srgb, var(${name}) ${100 * share}%, transparent)`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

/* Whole numbers only: nobody is half waiting. */
const STEPS = [1, 2, 5].flatMap((n) => [0, 1, 2, 3, 4, 5, 6].map((e) => n * 10 ** e)).sort((a, b) => a - b);

function options(series, unit, width, height) {
  const axis = { stroke: color("--muted"), font: "11px system-ui", ticks: { show: false },
    grid: { stroke: color("--line"), width: 1 } };
  return {
    width, height, legend: { show: false }, padding: [8, 6, 0, 0],
    cursor: { drag: { x: false, y: false }, points: { size: 6 }, y: false },
    scales: { x: { time: true }, y: { range: (_, min, max) => [0, Math.max(1, max * 1.15)] } },
    axes: [
      { ...axis, grid: { show: false }, size: 24, space: 70,
        values: (_, splits, __, ___, step) => splits.map((s) => new Date(s * 1000).toTimeString().slice(0, step < 60 ? 8 : 5)) },
      { ...axis, size: 46, space: 28, incrs: STEPS, values: (_, splits) => splits.map(unit) },
    ],
    series: [{}, ...series.map((one) => ({
      label: one.label, stroke: color(one.color), width: 1.6, points: { show: false },
      dash: one.dash, fill: one.fill ? color(one.color, 0.13) : undefined, spanGaps: true,
    }))],
  };
}

/* data: [times, values …] as uPlot wants them; series: {label, color, dash, fill}. */
export function Chart({ data, series, unit = String, height = 132, label }) {
  const box = useRef(null);
  const plot = useRef(null);
  const latest = useRef(null);
  const tip = useRef(null);
  latest.current = { data, series, unit };

  useEffect(() => {
    const make = () => {
      plot.current?.destroy();
      const { series: lines, unit: how, data: values } = latest.current;
      const opts = options(lines, how, box.current.clientWidth || 300, height);
      opts.hooks = { setCursor: [(u) => pointed(u, tip.current, latest.current)] };
      plot.current = new uPlot(opts, values, box.current);
    };
    make();
    const size = new ResizeObserver(() => {
      const width = box.current?.clientWidth;
      if (width && plot.current && Math.abs(plot.current.width - width) > 1) plot.current.setSize({ width, height });
    });
    size.observe(box.current);
    const theme = new MutationObserver(make);
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", make);
    return () => {
      size.disconnect();
      theme.disconnect();
      dark.removeEventListener("change", make);
      plot.current.destroy();
      plot.current = null;
    };
  }, [height, series.map((one) => one.label).join()]);

  useEffect(() => {
    plot.current?.setData(data);
  }, [data]);

  return (
    <div class="chart" style={{ minHeight: `${height}px` }} role="img" aria-label={label}>
      <div ref={box} aria-hidden="true" />
      <div class="chart-tip" ref={tip} aria-hidden="true" />
    </div>
  );
}

function pointed(u, tip, { data, series, unit }) {
  if (!tip) return;
  const i = u.cursor.idx;
  if (i === null || i === undefined || u.cursor.left < 0) {
    tip.textContent = "";
    return;
  }
  const when = new Date(data[0][i] * 1000).toTimeString().slice(0, 8);
  tip.textContent = [when, ...series.map((one, k) => `${one.label} ${data[k + 1][i] == null ? "–" : unit(data[k + 1][i])}`)].join("  ·  ");
}

export function Legend({ series }) {
  return (
    <span class="legend">
      {series.map((one) => (
        <span key={one.label}>
          <svg viewBox="0 0 18 8" aria-hidden="true">
            <line x1="0" y1="4" x2="18" y2="4" style={{ stroke: `var(${one.color})` }} stroke-width="2"
              stroke-dasharray={one.dash?.join(" ")} />
          </svg>
          {one.label}
        </span>
      ))}
    </span>
  );
}

// icons.jsx - 16 × 16 line icons. Decoration only: words always stand beside them or in a label.

const PATHS = {
  check: "M3 8.5l3.2 3.2L13 4.8",
  cross: "M4 4l8 8M12 4l-8 8",
  clock: "M8 2.2a5.8 5.8 0 1 0 .01 0M8 4.8V8l2.2 1.6",
  memory: "M4.5 4.5h7v7h-7zM6.5 2v2.5M9.5 2v2.5M6.5 11.5V14M9.5 11.5V14M2 6.5h2.5M2 9.5h2.5M11.5 6.5H14M11.5 9.5H14",
  output: "M3 3.5h10M3 6.5h10M3 9.5h6M11 9v5M8.8 11.8L11 14l2.2-2.2",
  bolt: "M9 1.8L3.6 9H8l-1 5.2L12.4 7H8z",
  code: "M5.5 4.5L2 8l3.5 3.5M10.5 4.5L14 8l-3.5 3.5",
  question: "M5.6 5.8a2.4 2.4 0 1 1 3.4 2.2c-.7.4-1 .8-1 1.5M8 12.4v.1",
  hourglass: "M4 2.4h8M4 13.6h8M5 2.4v2.8L8 8l3-2.8V2.4M5 13.6v-2.8L8 8l3 2.8v2.8",
  dots: "M3.5 8v.1M8 8v.1M12.5 8v.1",
  run: "M8 2.2a5.8 5.8 0 1 1-5.8 5.8",
  retry: "M13 5.2A5.6 5.6 0 1 0 13.6 8M13.4 2.2v3.2h-3.2",
  ban: "M8 2.2a5.8 5.8 0 1 0 .01 0M4 4l8 8",
  skull: "M8 2C4.8 2 3 4.2 3 7c0 1.7.8 2.9 2 3.6V13h6v-2.4c1.2-.7 2-1.9 2-3.6 0-2.8-1.8-5-5-5zM6 7.4v.1M10 7.4v.1M7 13v-1.5M9 13v-1.5",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  play: "M5 3.2l7.5 4.8L5 12.8z",
  search: "M7 2.8a4.2 4.2 0 1 0 .01 0M10.2 10.2L13.4 13.4",
  sun: "M8 5.2a2.8 2.8 0 1 0 .01 0M8 1.4v1.4M8 13.2v1.4M1.4 8h1.4M13.2 8h1.4M3.3 3.3l1 1M11.7 11.7l1 1M12.7 3.3l-1 1M4.3 11.7l-1 1",
  moon: "M13 9.6A5.6 5.6 0 0 1 6.4 3 5.6 5.6 0 1 0 13 9.6z",
  auto: "M8 2.2a5.8 5.8 0 1 0 .01 0M8 2.2v11.6",
  key: "M10.6 2.4a3 3 0 1 0 .01 0M8.4 7.6L3 13v.8h2.4v-1.6H7v-1.6",
  up: "M8 13V3.4M4 7.2L8 3.2l4 4",
  upload: "M8 10.5V2.6M4.8 5.6L8 2.4l3.2 3.2M2.6 10.5v2.9h10.8v-2.9",
  trash: "M2.8 4.2h10.4M6.2 4V2.6h3.6V4M4.2 4.4l.6 9h6.4l.6-9",
  drain: "M3 3h10M4.5 3v4.5L8 11l3.5-3.5V3M8 11v3",
  info: "M8 2.2a5.8 5.8 0 1 0 .01 0M8 7.2v4M8 4.8v.1",
  warn: "M8 2.4L14.2 13H1.8zM8 6.4v3.2M8 11.4v.1",
  scales: "M3 4h10M8 2.6v10.6M5.4 13.2h5.2M3 4L1.4 8.4a2 2 0 0 0 3.2 0zM13 4l-1.6 4.4a2 2 0 0 0 3.2 0z",
  right: "M6 3.5L10.5 8 6 12.5",
  left: "M10 3.5L5.5 8l4.5 4.5",
  copy: "M5.5 5.5h7v8h-7zM3.5 10.5v-8h7",
};

export function Icon({ name, class: more = "" }) {
  return (
    <svg class={`icon ${more}`} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

// build.mjs OUT - bundle the pages into OUT: index.html and assets/ with a hash in every name.
import { build } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";
import { join, basename } from "node:path";

const out = process.argv[2];
if (!out) {
  console.error("usage: node build.mjs OUT_DIR");
  process.exit(2);
}

const shared = {
  outdir: join(out, "assets"),
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  bundle: true,
  minify: true,
  target: ["chrome123", "firefox120", "safari17.5"], // the first with light-dark() in CSS
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
};
const app = await build({
  ...shared,
  entryPoints: { app: "src/main.jsx" },
  splitting: true, // the editor is a chunk of its own, loaded by the submit page
  format: "esm",
});
// A classic script, because those run before anything is drawn.
const theme = await build({ ...shared, entryPoints: { theme: "src/theme.js" }, format: "iife" });

// What index.html needs to name: the entry files, by their entry point.
const made = {};
for (const [file, about] of Object.entries({ ...app.metafile.outputs, ...theme.metafile.outputs })) {
  if (about.entryPoint === "src/main.jsx") {
    made.APP = `/assets/${basename(file)}`;
    made.CSS = `/assets/${basename(about.cssBundle)}`;
  }
  if (about.entryPoint === "src/theme.js") made.THEME = `/assets/${basename(file)}`;
}
const page = readFileSync("src/index.html", "utf8").replace(/%(\w+)%/g, (_, name) => made[name]);
writeFileSync(join(out, "index.html"), page);
writeFileSync(join(out, "icon.svg"), readFileSync("src/icon.svg"));

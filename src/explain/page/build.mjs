// Builds built.html, which the program embeds, from source/ and page.css. With --check: checks that built.html
// matches the sources, and changes nothing.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildSync, transformSync } from "esbuild";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const script = buildSync({
  absWorkingDir: here("."),
  entryPoints: ["source/main.ts"],
  bundle: true,
  minify: true,
  write: false,
  format: "iife",
  target: "es2022",
}).outputFiles[0].text.trim();
const style = transformSync(readFileSync(here("page.css"), "utf8"), { loader: "css", minify: true }).code.trim();

// Allows only this script and this style, by their hashes; nothing is fetched.
const policy = [
  "default-src 'none'",
  `script-src ${hash(script)}`,
  `style-src ${hash(style)}`,
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Attend</title>
<style>${style}</style>
</head>
<body>
<main class="attend">
<noscript>This page draws its pictures with a script, which this browser does not run.</noscript>
<!--attend:data-->
</main>
<script>${script}</script>
</body>
</html>
`;

if (!process.argv.includes("--check")) {
  writeFileSync(here("built.html"), page);
} else if (readFileSync(here("built.html"), "utf8") !== page) {
  console.error("src/explain/page/built.html is not what its sources give: run scripts/build-page and commit it");
  process.exit(1);
}

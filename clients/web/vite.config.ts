import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { defineConfig, type Plugin } from "vite";

const HERE = import.meta.dirname;
const SOURCES = ["index.html", "console.html", "package-lock.json", "vite.config.ts", "public", "src", "../typescript/src"];

/** What is left out of the built files, so that a change of it changes none of them: the types of the HTTP API. */
const TYPES = "../typescript/src/schema.ts";

/** Names the sources that were built, so that a test notices files that are older than their sources. */
function digest(): Plugin {
  const files = (path: string): string[] =>
    statSync(join(HERE, path)).isFile() ? [path] : readdirSync(join(HERE, path)).flatMap((name) => files(`${path}/${name}`));
  return {
    name: "digest-of-sources",
    generateBundle() {
      const hash = createHash("sha256");
      for (const path of SOURCES.flatMap(files).filter((path) => path !== TYPES).sort()) hash.update(`${path}\n`).update(readFileSync(join(HERE, path)));
      this.emitFile({ type: "asset", fileName: "sources.sha256", source: `${hash.digest("hex")}\n` });
    },
  };
}

/** The files go to the gateway, which serves them under these names; browsers ask whether they have changed. */
export default defineConfig({
  base: "./",
  plugins: [digest()],
  resolve: { alias: { "@answerbus/client": resolve(HERE, "../typescript/src/index.ts") } },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: resolve(HERE, "../../services/gateway/web"),
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    rollupOptions: {
      input: { index: resolve(HERE, "index.html"), console: resolve(HERE, "console.html"), widget: resolve(HERE, "src/widget.ts") },
      output: {
        entryFileNames: (chunk) => (chunk.name === "widget" ? "widget.js" : "assets/[name].js"),
        chunkFileNames: "assets/[name].js",
        assetFileNames: "assets/[name][extname]",
      },
    },
  },
});

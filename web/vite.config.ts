import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The console is served by the server itself, from the folder that embed.go
// takes in. `npm run dev` passes REST and the channel on to a server on 8700.
export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2023",
    cssTarget: ["chrome123", "firefox121", "safari17.5"],
    modulePreload: { polyfill: false }, // an inline script: the content policy has none
    assetsInlineLimit: 0,
  },
  server: {
    proxy: { "/v1": { target: "http://127.0.0.1:8700", ws: true } },
  },
  test: { include: ["src/**/*.test.ts"], environment: "node" },
});

/** How esbuild makes the dashboard, for `npm run build` and `npm run dev`. */
export const pageBuild = {
  entryPoints: { app: "packages/dashboard/main.tsx" },
  bundle: true,
  platform: "browser",
  target: ["chrome125", "firefox128", "safari17.5"],
  format: "esm",
  jsx: "automatic",
  jsxImportSource: "preact",
};

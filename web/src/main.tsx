import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Refusal } from "./api/client";
import { router } from "./router";
import { onForget } from "./session";
import "./styles/tokens.css";
import "./styles/base.css";
import { applyTheme } from "./theme";

applyTheme();

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      refetchOnWindowFocus: false,
      // A refusal stays one; only silence is tried again.
      retry: (failures, error) => failures < 2 && !(error instanceof Refusal && error.status !== 0),
    },
  },
});
onForget(() => queries.clear());

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  );
}

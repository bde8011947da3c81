import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
} from "@tanstack/react-router";
import { approvalsSearch } from "./approvals/search";
import { ForgotPage } from "./auth/ForgotPage";
import { ResetPage } from "./auth/ResetPage";
import { SignInPage } from "./auth/SignInPage";
import { catalogListSearch } from "./catalog/search";
import { newHarnessSearch } from "./harnesses/search";
import { historySearch } from "./history/search";
import { sessionSearch } from "./session/search";
import { sessionListSearch } from "./sessions/search";
import { AppShell } from "./shell/AppShell";
import { NotFound, PageCrash } from "./shell/Fallbacks";

const root = createRootRoute({
  component: Outlet,
  notFoundComponent: NotFound,
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: (
    search: Record<string, unknown>,
  ): { next?: string; error?: string; invitation?: string } => ({
    ...(typeof search.next === "string" && { next: search.next }),
    ...(typeof search.error === "string" && { error: search.error }),
    ...(typeof search.invitation === "string" && { invitation: search.invitation }),
  }),
  component: SignInPage,
});

const forgot = createRoute({
  getParentRoute: () => root,
  path: "/forgot",
  component: ForgotPage,
});

const reset = createRoute({
  getParentRoute: () => root,
  path: "/reset",
  validateSearch: (search: Record<string, unknown>): { token: string } => ({
    token: typeof search.token === "string" ? search.token : "",
  }),
  component: ResetPage,
});

const app = createRoute({
  getParentRoute: () => root,
  id: "app",
  component: AppShell,
});

const home = createRoute({
  getParentRoute: () => app,
  path: "/",
  component: lazyRouteComponent(() => import("./home/HomePage"), "HomePage"),
});

const sessions = createRoute({
  getParentRoute: () => app,
  path: "/sessions",
  validateSearch: sessionListSearch,
  component: lazyRouteComponent(() => import("./sessions/SessionsPage"), "SessionsPage"),
});

const session = createRoute({
  getParentRoute: () => app,
  path: "/sessions/$sessionId",
  validateSearch: sessionSearch,
  component: lazyRouteComponent(() => import("./session/SessionPage"), "SessionPage"),
});

const approvals = createRoute({
  getParentRoute: () => app,
  path: "/approvals",
  validateSearch: approvalsSearch,
  component: lazyRouteComponent(() => import("./approvals/ApprovalsPage"), "ApprovalsPage"),
});

const agents = createRoute({
  getParentRoute: () => app,
  path: "/agents",
  validateSearch: catalogListSearch,
  component: lazyRouteComponent(() => import("./agents/AgentsPage"), "AgentsPage"),
});

const newAgent = createRoute({
  getParentRoute: () => app,
  path: "/agents/new",
  component: lazyRouteComponent(() => import("./agents/NewAgentPage"), "NewAgentPage"),
});

const agent = createRoute({
  getParentRoute: () => app,
  path: "/agents/$agentId",
  component: lazyRouteComponent(() => import("./agents/AgentPage"), "AgentPage"),
});

const agentHistory = createRoute({
  getParentRoute: () => app,
  path: "/agents/$agentId/history",
  validateSearch: historySearch,
  component: lazyRouteComponent(() => import("./history/AgentHistoryPage"), "AgentHistoryPage"),
});

const harnesses = createRoute({
  getParentRoute: () => app,
  path: "/harnesses",
  validateSearch: catalogListSearch,
  component: lazyRouteComponent(() => import("./harnesses/HarnessesPage"), "HarnessesPage"),
});

const newHarness = createRoute({
  getParentRoute: () => app,
  path: "/harnesses/new",
  validateSearch: newHarnessSearch,
  component: lazyRouteComponent(() => import("./harnesses/NewHarnessPage"), "NewHarnessPage"),
});

const harness = createRoute({
  getParentRoute: () => app,
  path: "/harnesses/$harnessId",
  component: lazyRouteComponent(() => import("./harnesses/HarnessPage"), "HarnessPage"),
});

const harnessHistory = createRoute({
  getParentRoute: () => app,
  path: "/harnesses/$harnessId/history",
  validateSearch: historySearch,
  component: lazyRouteComponent(() => import("./history/HarnessHistoryPage"), "HarnessHistoryPage"),
});

const models = createRoute({
  getParentRoute: () => app,
  path: "/models",
  component: lazyRouteComponent(() => import("./models/ModelsPage"), "ModelsPage"),
});

const provider = createRoute({
  getParentRoute: () => app,
  path: "/models/$providerId",
  component: lazyRouteComponent(() => import("./models/ProviderPage"), "ProviderPage"),
});

export const router = createRouter({
  routeTree: root.addChildren([
    signIn,
    forgot,
    reset,
    app.addChildren([
      home,
      sessions,
      session,
      approvals,
      agents,
      newAgent,
      agent,
      agentHistory,
      harnesses,
      newHarness,
      harness,
      harnessHistory,
      models,
      provider,
    ]),
  ]),
  defaultPreload: "intent",
  defaultErrorComponent: PageCrash,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

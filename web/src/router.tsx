import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { agentListSearch } from "./agents/search";
import { SignInPage } from "./auth/SignInPage";
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
  validateSearch: (search: Record<string, unknown>): { next?: string } =>
    typeof search.next === "string" ? { next: search.next } : {},
  component: SignInPage,
});

const app = createRoute({
  getParentRoute: () => root,
  id: "app",
  component: AppShell,
});

const home = createRoute({
  getParentRoute: () => app,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/sessions", replace: true });
  },
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

const agents = createRoute({
  getParentRoute: () => app,
  path: "/agents",
  validateSearch: agentListSearch,
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

export const router = createRouter({
  routeTree: root.addChildren([
    signIn,
    app.addChildren([home, sessions, session, agents, newAgent, agent]),
  ]),
  defaultPreload: "intent",
  defaultErrorComponent: PageCrash,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

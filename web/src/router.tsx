import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
} from "@tanstack/react-router";
import { loadCode } from "./api/reachable";
import { approvalsSearch } from "./approvals/search";
import { ForgotPage } from "./auth/ForgotPage";
import { ResetPage } from "./auth/ResetPage";
import { SignInPage } from "./auth/SignInPage";
import { budgetsSearch } from "./budgets/search";
import { catalogListSearch } from "./catalog/search";
import { failuresSearch } from "./failures/search";
import type { Permission } from "./gql/graphql";
import { newHarnessSearch } from "./harnesses/search";
import { historySearch } from "./history/search";
import { homeSearch } from "./home/search";
import { auditSearch } from "./org/audit/search";
import { invitationsSearch } from "./org/members/search";
import { webhooksSearch } from "./org/webhooks/search";
import { paymentsSearch } from "./payments/search";
import { sessionSearch } from "./session/search";
import { sessionListSearch } from "./sessions/search";
import { AppShell } from "./shell/AppShell";
import { NotFound, PageCrash } from "./shell/Fallbacks";
import { flag, searchOf, text } from "./shell/search";
import { usageSearch } from "./usage/search";

/** The component of a page, whose code is loaded when it is first shown. */
function lazy<Module extends Record<string, unknown>, Name extends keyof Module>(
  load: () => Promise<Module>,
  name: Name,
) {
  return lazyRouteComponent(() => loadCode(load), name);
}

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFound });

const app = createRoute({ getParentRoute: () => root, id: "app", component: AppShell });

const organization = createRoute({
  getParentRoute: () => app,
  path: "/organization",
  component: lazy(() => import("./org/OrgArea"), "OrgArea"),
});

/** A page of the app, for those with the permission. */
const inApp = (needs: Permission) => ({ getParentRoute: () => app, staticData: { needs } });

/** A page about the organization, for those with the permission. */
const inOrganization = (needs: Permission) => ({
  getParentRoute: () => organization,
  staticData: { needs },
});

const tokenSearch = (search: Record<string, unknown>) => ({ token: text(search.token) ?? "" });

const entryPages = [
  createRoute({
    getParentRoute: () => root,
    path: "/sign-in",
    validateSearch: searchOf({ next: text, ended: flag, error: text, invitation: text }),
    component: SignInPage,
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/forgot",
    component: ForgotPage,
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/reset",
    validateSearch: tokenSearch,
    component: ResetPage,
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/invite",
    validateSearch: tokenSearch,
    component: lazy(() => import("./auth/InvitePage"), "InvitePage"),
  }),
] as const;

const appPages = [
  createRoute({
    ...inApp("SESSIONS_READ"),
    path: "/",
    validateSearch: homeSearch,
    component: lazy(() => import("./home/HomePage"), "HomePage"),
  }),
  createRoute({
    ...inApp("SESSIONS_READ"),
    path: "/sessions",
    validateSearch: sessionListSearch,
    component: lazy(() => import("./sessions/SessionsPage"), "SessionsPage"),
  }),
  createRoute({
    ...inApp("SESSIONS_READ"),
    path: "/sessions/$sessionId",
    validateSearch: sessionSearch,
    component: lazy(() => import("./session/SessionPage"), "SessionPage"),
  }),
  createRoute({
    ...inApp("SESSIONS_READ"),
    path: "/failures",
    validateSearch: failuresSearch,
    component: lazy(() => import("./failures/FailuresPage"), "FailuresPage"),
  }),
  createRoute({
    ...inApp("SESSIONS_READ"),
    path: "/approvals",
    validateSearch: approvalsSearch,
    component: lazy(() => import("./approvals/ApprovalsPage"), "ApprovalsPage"),
  }),
  createRoute({
    ...inApp("SESSIONS_WRITE"),
    path: "/api",
    component: lazy(() => import("./developers/ApiPage"), "ApiPage"),
  }),
  createRoute({
    ...inApp("SESSIONS_READ"),
    path: "/docs",
    component: lazy(() => import("./developers/DocsPage"), "DocsPage"),
  }),
  createRoute({
    ...inApp("SESSIONS_READ"),
    path: "/docs/$guide",
    component: lazy(() => import("./developers/GuidePage"), "GuidePage"),
  }),
  createRoute({
    ...inApp("CATALOG_READ"),
    path: "/agents",
    validateSearch: catalogListSearch,
    component: lazy(() => import("./agents/AgentsPage"), "AgentsPage"),
  }),
  createRoute({
    ...inApp("CATALOG_WRITE"),
    path: "/agents/new",
    component: lazy(() => import("./agents/NewAgentPage"), "NewAgentPage"),
  }),
  createRoute({
    ...inApp("CATALOG_READ"),
    path: "/agents/$agentId",
    component: lazy(() => import("./agents/AgentPage"), "AgentPage"),
  }),
  createRoute({
    ...inApp("CATALOG_READ"),
    path: "/agents/$agentId/history",
    validateSearch: historySearch,
    component: lazy(() => import("./history/AgentHistoryPage"), "AgentHistoryPage"),
  }),
  createRoute({
    ...inApp("CATALOG_READ"),
    path: "/harnesses",
    validateSearch: catalogListSearch,
    component: lazy(() => import("./harnesses/HarnessesPage"), "HarnessesPage"),
  }),
  createRoute({
    ...inApp("CATALOG_WRITE"),
    path: "/harnesses/new",
    validateSearch: newHarnessSearch,
    component: lazy(() => import("./harnesses/NewHarnessPage"), "NewHarnessPage"),
  }),
  createRoute({
    ...inApp("CATALOG_READ"),
    path: "/harnesses/$harnessId",
    component: lazy(() => import("./harnesses/HarnessPage"), "HarnessPage"),
  }),
  createRoute({
    ...inApp("CATALOG_READ"),
    path: "/harnesses/$harnessId/history",
    validateSearch: historySearch,
    component: lazy(() => import("./history/HarnessHistoryPage"), "HarnessHistoryPage"),
  }),
  createRoute({
    ...inApp("CATALOG_READ"),
    path: "/models",
    component: lazy(() => import("./models/ModelsPage"), "ModelsPage"),
  }),
  createRoute({
    ...inApp("CATALOG_READ"),
    path: "/models/$providerId",
    component: lazy(() => import("./models/ProviderPage"), "ProviderPage"),
  }),
  createRoute({
    ...inApp("BUDGETS_READ"),
    path: "/budgets",
    validateSearch: budgetsSearch,
    component: lazy(() => import("./budgets/BudgetsPage"), "BudgetsPage"),
  }),
  createRoute({
    ...inApp("BUDGETS_READ"),
    path: "/budgets/$budgetId",
    component: lazy(() => import("./budgets/BudgetPage"), "BudgetPage"),
  }),
  createRoute({
    ...inApp("BUDGETS_READ"),
    path: "/payments",
    validateSearch: paymentsSearch,
    component: lazy(() => import("./payments/PaymentsPage"), "PaymentsPage"),
  }),
  createRoute({
    ...inApp("USAGE_READ"),
    path: "/usage",
    validateSearch: usageSearch,
    component: lazy(() => import("./usage/UsagePage"), "UsagePage"),
  }),
  // Any other address, so that the navigation stays.
  createRoute({
    getParentRoute: () => app,
    path: "$",
    component: NotFound,
  }),
] as const;

const organizationPages = [
  createRoute({
    getParentRoute: () => organization,
    path: "/",
    component: lazy(() => import("./org/general/GeneralPage"), "GeneralPage"),
  }),
  createRoute({
    ...inOrganization("MEMBERS_READ"),
    path: "/members",
    component: lazy(() => import("./org/members/MembersPage"), "MembersPage"),
  }),
  createRoute({
    ...inOrganization("MEMBERS_READ"),
    path: "/invitations",
    validateSearch: invitationsSearch,
    component: lazy(() => import("./org/members/InvitationsPage"), "InvitationsPage"),
  }),
  createRoute({
    ...inOrganization("API_KEYS_MANAGE"),
    path: "/api-keys",
    component: lazy(() => import("./org/keys/ApiKeysPage"), "ApiKeysPage"),
  }),
  createRoute({
    ...inOrganization("WEBHOOKS_MANAGE"),
    path: "/webhooks",
    validateSearch: webhooksSearch,
    component: lazy(() => import("./org/webhooks/WebhooksPage"), "WebhooksPage"),
  }),
  createRoute({
    ...inOrganization("ORG_READ"),
    path: "/limits",
    component: lazy(() => import("./org/limits/LimitsPage"), "LimitsPage"),
  }),
  createRoute({
    ...inOrganization("AUDIT_READ"),
    path: "/audit",
    validateSearch: auditSearch,
    component: lazy(() => import("./org/audit/AuditPage"), "AuditPage"),
  }),
  createRoute({
    getParentRoute: () => organization,
    path: "/profile",
    component: lazy(() => import("./org/profile/ProfilePage"), "ProfilePage"),
  }),
] as const;

export const router = createRouter({
  routeTree: root.addChildren([
    ...entryPages,
    app.addChildren([...appPages, organization.addChildren(organizationPages)]),
  ]),
  defaultPreload: "intent",
  defaultErrorComponent: PageCrash,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

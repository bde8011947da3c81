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
import { budgetsSearch } from "./budgets/search";
import { catalogListSearch } from "./catalog/search";
import { newHarnessSearch } from "./harnesses/search";
import { historySearch } from "./history/search";
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

const root = createRootRoute({
  component: Outlet,
  notFoundComponent: NotFound,
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: searchOf({ next: text, ended: flag, error: text, invitation: text }),
  component: SignInPage,
});

const forgot = createRoute({
  getParentRoute: () => root,
  path: "/forgot",
  component: ForgotPage,
});

const tokenSearch = (search: Record<string, unknown>) => ({ token: text(search.token) ?? "" });

const reset = createRoute({
  getParentRoute: () => root,
  path: "/reset",
  validateSearch: tokenSearch,
  component: ResetPage,
});

const invite = createRoute({
  getParentRoute: () => root,
  path: "/invite",
  validateSearch: tokenSearch,
  component: lazyRouteComponent(() => import("./auth/InvitePage"), "InvitePage"),
});

const app = createRoute({
  getParentRoute: () => root,
  id: "app",
  component: AppShell,
});

const home = createRoute({
  getParentRoute: () => app,
  path: "/",
  staticData: { needs: "SESSIONS_READ" },
  component: lazyRouteComponent(() => import("./home/HomePage"), "HomePage"),
});

const sessions = createRoute({
  getParentRoute: () => app,
  path: "/sessions",
  staticData: { needs: "SESSIONS_READ" },
  validateSearch: sessionListSearch,
  component: lazyRouteComponent(() => import("./sessions/SessionsPage"), "SessionsPage"),
});

const session = createRoute({
  getParentRoute: () => app,
  path: "/sessions/$sessionId",
  staticData: { needs: "SESSIONS_READ" },
  validateSearch: sessionSearch,
  component: lazyRouteComponent(() => import("./session/SessionPage"), "SessionPage"),
});

const approvals = createRoute({
  getParentRoute: () => app,
  path: "/approvals",
  staticData: { needs: "SESSIONS_READ" },
  validateSearch: approvalsSearch,
  component: lazyRouteComponent(() => import("./approvals/ApprovalsPage"), "ApprovalsPage"),
});

const agents = createRoute({
  getParentRoute: () => app,
  path: "/agents",
  staticData: { needs: "CATALOG_READ" },
  validateSearch: catalogListSearch,
  component: lazyRouteComponent(() => import("./agents/AgentsPage"), "AgentsPage"),
});

const newAgent = createRoute({
  getParentRoute: () => app,
  path: "/agents/new",
  staticData: { needs: "CATALOG_WRITE" },
  component: lazyRouteComponent(() => import("./agents/NewAgentPage"), "NewAgentPage"),
});

const agent = createRoute({
  getParentRoute: () => app,
  path: "/agents/$agentId",
  staticData: { needs: "CATALOG_READ" },
  component: lazyRouteComponent(() => import("./agents/AgentPage"), "AgentPage"),
});

const agentHistory = createRoute({
  getParentRoute: () => app,
  path: "/agents/$agentId/history",
  staticData: { needs: "CATALOG_READ" },
  validateSearch: historySearch,
  component: lazyRouteComponent(() => import("./history/AgentHistoryPage"), "AgentHistoryPage"),
});

const harnesses = createRoute({
  getParentRoute: () => app,
  path: "/harnesses",
  staticData: { needs: "CATALOG_READ" },
  validateSearch: catalogListSearch,
  component: lazyRouteComponent(() => import("./harnesses/HarnessesPage"), "HarnessesPage"),
});

const newHarness = createRoute({
  getParentRoute: () => app,
  path: "/harnesses/new",
  staticData: { needs: "CATALOG_WRITE" },
  validateSearch: newHarnessSearch,
  component: lazyRouteComponent(() => import("./harnesses/NewHarnessPage"), "NewHarnessPage"),
});

const harness = createRoute({
  getParentRoute: () => app,
  path: "/harnesses/$harnessId",
  staticData: { needs: "CATALOG_READ" },
  component: lazyRouteComponent(() => import("./harnesses/HarnessPage"), "HarnessPage"),
});

const harnessHistory = createRoute({
  getParentRoute: () => app,
  path: "/harnesses/$harnessId/history",
  staticData: { needs: "CATALOG_READ" },
  validateSearch: historySearch,
  component: lazyRouteComponent(() => import("./history/HarnessHistoryPage"), "HarnessHistoryPage"),
});

const models = createRoute({
  getParentRoute: () => app,
  path: "/models",
  staticData: { needs: "CATALOG_READ" },
  component: lazyRouteComponent(() => import("./models/ModelsPage"), "ModelsPage"),
});

const provider = createRoute({
  getParentRoute: () => app,
  path: "/models/$providerId",
  staticData: { needs: "CATALOG_READ" },
  component: lazyRouteComponent(() => import("./models/ProviderPage"), "ProviderPage"),
});

const budgets = createRoute({
  getParentRoute: () => app,
  path: "/budgets",
  staticData: { needs: "BUDGETS_READ" },
  validateSearch: budgetsSearch,
  component: lazyRouteComponent(() => import("./budgets/BudgetsPage"), "BudgetsPage"),
});

const budget = createRoute({
  getParentRoute: () => app,
  path: "/budgets/$budgetId",
  staticData: { needs: "BUDGETS_READ" },
  component: lazyRouteComponent(() => import("./budgets/BudgetPage"), "BudgetPage"),
});

const payments = createRoute({
  getParentRoute: () => app,
  path: "/payments",
  staticData: { needs: "BUDGETS_READ" },
  validateSearch: paymentsSearch,
  component: lazyRouteComponent(() => import("./payments/PaymentsPage"), "PaymentsPage"),
});

const usage = createRoute({
  getParentRoute: () => app,
  path: "/usage",
  staticData: { needs: "USAGE_READ" },
  validateSearch: usageSearch,
  component: lazyRouteComponent(() => import("./usage/UsagePage"), "UsagePage"),
});

const organization = createRoute({
  getParentRoute: () => app,
  path: "/organization",
  component: lazyRouteComponent(() => import("./org/OrgArea"), "OrgArea"),
});

const orgGeneral = createRoute({
  getParentRoute: () => organization,
  path: "/",
  component: lazyRouteComponent(() => import("./org/general/GeneralPage"), "GeneralPage"),
});

const orgMembers = createRoute({
  getParentRoute: () => organization,
  path: "/members",
  staticData: { needs: "MEMBERS_READ" },
  component: lazyRouteComponent(() => import("./org/members/MembersPage"), "MembersPage"),
});

const orgInvitations = createRoute({
  getParentRoute: () => organization,
  path: "/invitations",
  validateSearch: invitationsSearch,
  staticData: { needs: "MEMBERS_READ" },
  component: lazyRouteComponent(() => import("./org/members/InvitationsPage"), "InvitationsPage"),
});

const orgApiKeys = createRoute({
  getParentRoute: () => organization,
  path: "/api-keys",
  staticData: { needs: "API_KEYS_MANAGE" },
  component: lazyRouteComponent(() => import("./org/keys/ApiKeysPage"), "ApiKeysPage"),
});

const orgWebhooks = createRoute({
  getParentRoute: () => organization,
  path: "/webhooks",
  validateSearch: webhooksSearch,
  staticData: { needs: "WEBHOOKS_MANAGE" },
  component: lazyRouteComponent(() => import("./org/webhooks/WebhooksPage"), "WebhooksPage"),
});

const orgLimits = createRoute({
  getParentRoute: () => organization,
  path: "/limits",
  staticData: { needs: "ORG_READ" },
  component: lazyRouteComponent(() => import("./org/limits/LimitsPage"), "LimitsPage"),
});

const orgAudit = createRoute({
  getParentRoute: () => organization,
  path: "/audit",
  validateSearch: auditSearch,
  staticData: { needs: "AUDIT_READ" },
  component: lazyRouteComponent(() => import("./org/audit/AuditPage"), "AuditPage"),
});

const orgProfile = createRoute({
  getParentRoute: () => organization,
  path: "/profile",
  component: lazyRouteComponent(() => import("./org/profile/ProfilePage"), "ProfilePage"),
});

/** Any other address, so that the navigation stays. */
const unknown = createRoute({
  getParentRoute: () => app,
  path: "$",
  component: NotFound,
});

export const router = createRouter({
  routeTree: root.addChildren([
    signIn,
    forgot,
    reset,
    invite,
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
      budgets,
      budget,
      payments,
      usage,
      organization.addChildren([
        orgGeneral,
        orgMembers,
        orgInvitations,
        orgApiKeys,
        orgWebhooks,
        orgLimits,
        orgAudit,
        orgProfile,
      ]),
      unknown,
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

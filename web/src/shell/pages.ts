import {
  BookOpen,
  Bot,
  Braces,
  Building2,
  ChartColumn,
  CircleAlert,
  Cpu,
  House,
  Layers,
  MessagesSquare,
  Receipt,
  ShieldQuestion,
  UserRound,
  Wallet,
} from "lucide-react";
import type { Permission } from "@/gql/graphql";

/** The pages that the navigation and the palette lead to, and G with `key`; only who holds one of `offer`. */
export const PAGES = [
  { to: "/", label: "Home", key: "h", icon: House, offer: ["SESSIONS_READ"] },
  { to: "/sessions", label: "Sessions", key: "s", icon: MessagesSquare, offer: ["SESSIONS_READ"] },
  { to: "/failures", label: "Failures", key: "f", icon: CircleAlert, offer: ["SESSIONS_READ"] },
  {
    to: "/approvals",
    label: "Approvals",
    key: "p",
    icon: ShieldQuestion,
    // Anyone may read what waits, in its session; the inbox is for those who can do something about it.
    offer: ["APPROVALS_DECIDE", "SESSIONS_WRITE"],
  },
  { to: "/agents", label: "Agents", key: "a", icon: Bot, offer: ["CATALOG_READ"] },
  { to: "/harnesses", label: "Harnesses", key: "n", icon: Layers, offer: ["CATALOG_READ"] },
  { to: "/models", label: "Models", key: "m", icon: Cpu, offer: ["CATALOG_READ"] },
  { to: "/budgets", label: "Budgets", key: "b", icon: Wallet, offer: ["BUDGETS_READ"] },
  { to: "/payments", label: "Payments", key: "y", icon: Receipt, offer: ["BUDGETS_READ"] },
  { to: "/usage", label: "Usage", key: "u", icon: ChartColumn, offer: ["USAGE_READ"] },
  { to: "/api", label: "API", key: "i", icon: Braces, offer: ["SESSIONS_WRITE"] },
  { to: "/organization", label: "Organization", key: "o", icon: Building2, offer: ["ORG_READ"] },
] as const satisfies readonly {
  to: string;
  label: string;
  key: string;
  icon: typeof House;
  offer: readonly Permission[];
}[];

export const PROFILE = {
  to: "/organization/profile",
  label: "Your profile",
  icon: UserRound,
} as const;

/** The guides, which need no place among the pages that people work on. */
export const DOCS = { to: "/docs", label: "Docs", icon: BookOpen } as const;

/** Those pages that a viewer with these permissions is led to. Payments are for servers with a capability that can pay. */
export function offeredPages(permissions: readonly Permission[], payments: boolean) {
  return PAGES.filter(
    ({ to, offer }) =>
      offer.some((each) => permissions.includes(each)) && (payments || to !== "/payments"),
  );
}

/** Which of these pages an address belongs to; undefined for one of none. */
export function pageAt<Page extends { to: string }>(
  pages: readonly Page[],
  pathname: string,
): Page | undefined {
  return pages.find(({ to }) => pathname === to || (to !== "/" && pathname.startsWith(`${to}/`)));
}

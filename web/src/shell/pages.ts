import {
  Bot,
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

/** The pages that the navigation and the palette lead to; only to who holds one of `offer`. */
export const PAGES = [
  { to: "/", label: "Home", icon: House, offer: ["SESSIONS_READ"] },
  { to: "/sessions", label: "Sessions", icon: MessagesSquare, offer: ["SESSIONS_READ"] },
  { to: "/failures", label: "Failures", icon: CircleAlert, offer: ["SESSIONS_READ"] },
  {
    to: "/approvals",
    label: "Approvals",
    icon: ShieldQuestion,
    // Anyone may read what waits, in its session; the inbox is for those who can do something about it.
    offer: ["APPROVALS_DECIDE", "SESSIONS_WRITE"],
  },
  { to: "/agents", label: "Agents", icon: Bot, offer: ["CATALOG_READ"] },
  { to: "/harnesses", label: "Harnesses", icon: Layers, offer: ["CATALOG_READ"] },
  { to: "/models", label: "Models", icon: Cpu, offer: ["CATALOG_READ"] },
  { to: "/budgets", label: "Budgets", icon: Wallet, offer: ["BUDGETS_READ"] },
  { to: "/payments", label: "Payments", icon: Receipt, offer: ["BUDGETS_READ"] },
  { to: "/usage", label: "Usage", icon: ChartColumn, offer: ["USAGE_READ"] },
  { to: "/organization", label: "Organization", icon: Building2, offer: ["ORG_READ"] },
] as const satisfies readonly {
  to: string;
  label: string;
  icon: typeof House;
  offer: readonly Permission[];
}[];

export const PROFILE = {
  to: "/organization/profile",
  label: "Your profile",
  icon: UserRound,
} as const;

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

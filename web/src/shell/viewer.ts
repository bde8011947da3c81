import { useMatches } from "@tanstack/react-router";
import { createContext, useContext } from "react";
import type { Permission, ViewerQuery } from "@/gql/graphql";

export type Viewer = ViewerQuery["viewer"];

export const ViewerContext = createContext<Viewer | null>(null);

export function useViewer(): Viewer {
  const viewer = useContext(ViewerContext);
  if (!viewer) throw new Error("useViewer is used outside of the signed-in pages");
  return viewer;
}

/**
 * Whether to offer an action at all; the server decides again when it is taken. This is the one place that answers for
 * what is on a page; what a whole page needs is said with its route.
 */
export function useMay(permission: Permission): boolean {
  return useViewer().permissions.includes(permission);
}

declare module "@tanstack/react-router" {
  interface StaticDataRouteOption {
    /** The permission without which the page can't be shown. */
    needs?: Permission;
  }
}

/** What the page at the present address needs and the viewer lacks; null when it can be shown. */
export function useLacking({ permissions }: Viewer): Permission | null {
  return useMatches({
    select: (matches) =>
      matches
        .map(({ staticData }) => staticData.needs)
        .find((needs) => needs !== undefined && !permissions.includes(needs)) ?? null,
  });
}

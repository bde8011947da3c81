import { createContext, useContext } from "react";
import type { Permission, ViewerQuery } from "@/gql/graphql";

export type Viewer = ViewerQuery["viewer"];

export const ViewerContext = createContext<Viewer | null>(null);

export function useViewer(): Viewer {
  const viewer = useContext(ViewerContext);
  if (!viewer) throw new Error("useViewer is used outside of the signed-in pages");
  return viewer;
}

/** Whether to offer an action at all; the server decides again when it is taken. */
export function useMay(permission: Permission): boolean {
  return useViewer().permissions.includes(permission);
}

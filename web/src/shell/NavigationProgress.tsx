import { useRouterState } from "@tanstack/react-router";

/** A line at the top while the page that was chosen is still on its way; a fast one shows none. */
export function NavigationProgress() {
  const loading = useRouterState({ select: ({ status }) => status === "pending" });
  if (!loading) return null;
  return <div role="progressbar" aria-label="Loading the page" className="navigation-progress" />;
}

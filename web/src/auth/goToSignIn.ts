/** Leaves for the sign-in page and keeps the way back. A full load forgets whatever the last person had open. */
export function goToSignIn(): void {
  if (location.pathname === "/sign-in") return;
  const here = location.pathname + location.search;
  location.assign(here === "/" ? "/sign-in" : `/sign-in?next=${encodeURIComponent(here)}`);
}

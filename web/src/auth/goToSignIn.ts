import { forgetInvitation } from "./pendingInvitation";

/** These say themselves what a person without a sign-in can do. */
const ENTRY_PAGES = ["/sign-in", "/forgot", "/reset", "/invite"];

let signedIn = false;

/** From now on the loss of the sign-in is news to the person, and no invitation is on its way. */
export function noteSignedIn(): void {
  signedIn = true;
  forgetInvitation();
}

/** Leaves for the sign-in page and keeps the way back. A full load forgets whatever the last person had open. */
export function goToSignIn(): void {
  if (ENTRY_PAGES.includes(location.pathname)) return;
  location.assign(signInUrl(location.pathname + location.search, signedIn));
}

export function signInUrl(here: string, ended: boolean): string {
  const search = new URLSearchParams({
    ...(here === "/" ? {} : { next: here }),
    ...(ended ? { ended: "true" } : {}),
  }).toString();
  return search === "" ? "/sign-in" : `/sign-in?${search}`;
}

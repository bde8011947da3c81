import { Outlet, useLocation } from "@tanstack/react-router";
import { Suspense, useCallback, useEffect, useRef, useState } from "react";
import { useQuery } from "urql";
import { hasCode } from "@/api/errors";
import { lazy } from "@/api/reachable";
import { noteSignedIn } from "@/auth/goToSignIn";
import { sameIdentity } from "@/auth/identity";
import { ViewerDocument } from "@/gql/graphql";
import type { Outbox } from "@/session/chat/outbox";
import { OutboxesContext } from "@/session/chat/outboxes";
import { ErrorNote, RequestError } from "@/ui/ErrorNote";
import { Spinner } from "@/ui/Loading";
import { Toasts } from "@/ui/Toasts";
import { type Subject, SubjectContext, windowTitle } from "@/ui/title";
import { Sidebar, TopBar } from "./Navigation";
import { NavigationProgress } from "./NavigationProgress";
import { NotAllowed } from "./NotAllowed";
import { DOCS, PAGES, pageAt } from "./pages";
import { Palette } from "./palette";
import { OpenShortcutsContext, ShortcutSheet } from "./shortcuts";
import { useIdentityWatch } from "./useIdentityWatch";
import { useShortcuts } from "./useShortcuts";
import { useLacking, type Viewer, ViewerContext } from "./viewer";
import { type Waits, WaitsContext } from "./waits";

const WaitWatch = lazy(() => import("./WaitWatch"));
const IdentityChanged = lazy(() => import("./IdentityChanged"));

/** What stands behind the sign-in: it knows who is looking, and shows nothing to anybody else. */
export function AppShell() {
  const [{ data, error, fetching }, reload] = useQuery({ query: ViewerDocument });
  // A look at the server that fails says nothing about the viewer, and must not cost what is on the page.
  const latest = useRef<Viewer | null>(null);
  if (data) latest.current = data.viewer;
  const viewer = latest.current;
  const { began, unsure, problem, check } = useIdentityWatch(viewer);
  const signedIn = viewer !== null;
  useEffect(() => {
    if (signedIn) noteSignedIn();
  }, [signedIn]);

  // Without a sign-in the client is already on its way to the sign-in page.
  if (!viewer || hasCode(error, "UNAUTHENTICATED")) {
    return (
      <Blank>
        {error && !fetching && !hasCode(error, "UNAUTHENTICATED") ? (
          <RequestError error={error} onRetry={() => reload({ requestPolicy: "network-only" })} />
        ) : (
          <Spinner />
        )}
      </Blank>
    );
  }
  if (unsure) {
    return (
      <Blank>{problem ? <ErrorNote onRetry={check}>{problem}</ErrorNote> : <Spinner />}</Blank>
    );
  }
  if (began && !sameIdentity(began, viewer)) {
    return (
      <Suspense fallback={<Blank />}>
        <IdentityChanged began={began} now={viewer} />
      </Suspense>
    );
  }
  return (
    <ViewerContext value={viewer}>
      <Frame viewer={viewer} />
    </ViewerContext>
  );
}

function Blank({ children }: { children?: React.ReactNode }) {
  return <div className="flex h-full items-center justify-center p-4">{children}</div>;
}

/** The frame of all pages. */
function Frame({ viewer }: { viewer: Viewer }) {
  const [paletteOpen, setPaletteOpen] = useState(false);
  const [waits, setWaits] = useState<Waits>({ version: 0, count: null });
  const [outboxes] = useState(() => new Map<string, Outbox>());
  const [shortcutsOpen, setShortcutsOpen] = useState(false);
  const openShortcuts = useCallback(() => setShortcutsOpen(true), []);
  useShortcuts({ onPalette: () => setPaletteOpen((open) => !open), onHelp: openShortcuts });
  const lacking = useLacking(viewer);
  const [subject, setSubject] = useState<Subject | null>(null);
  const section = pageAt([...PAGES, DOCS], useLocation().pathname)?.label ?? null;
  useEffect(() => {
    document.title = windowTitle(section, subject, waits.count);
  }, [section, subject, waits.count]);
  return (
    <OutboxesContext value={outboxes}>
      <WaitsContext value={waits}>
        <Toasts>
          <OpenShortcutsContext value={openShortcuts}>
            <a
              href="#main"
              className="sr-only z-50 rounded-md bg-primary px-3 py-1.5 text-on-primary focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
            >
              Skip to content
            </a>
            <NavigationProgress />
            <div className="flex h-dvh flex-col md:flex-row">
              <Sidebar onSearch={() => setPaletteOpen(true)} />
              <TopBar onSearch={() => setPaletteOpen(true)} />
              <main
                id="main"
                tabIndex={-1}
                // With another role all that a page has read is read anew: it may hold what the viewer may do.
                key={viewer.permissions.join()}
                className="flex min-h-0 min-w-0 flex-1 flex-col outline-none"
              >
                <Suspense
                  fallback={
                    <div className="p-6">
                      <Spinner />
                    </div>
                  }
                >
                  <SubjectContext value={setSubject}>
                    {lacking ? <NotAllowed needs={lacking} /> : <Outlet />}
                  </SubjectContext>
                </Suspense>
              </main>
            </div>
            {paletteOpen && (
              <Suspense>
                <Palette onClose={() => setPaletteOpen(false)} />
              </Suspense>
            )}
            {shortcutsOpen && (
              <Suspense>
                <ShortcutSheet onClose={() => setShortcutsOpen(false)} />
              </Suspense>
            )}
            {viewer.permissions.includes("SESSIONS_READ") && (
              <Suspense>
                <WaitWatch onChange={setWaits} />
              </Suspense>
            )}
          </OpenShortcutsContext>
        </Toasts>
      </WaitsContext>
    </OutboxesContext>
  );
}

import { Outlet } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { useQuery } from "urql";
import { describeError, hasCode } from "@/api/errors";
import { ViewerDocument } from "@/gql/graphql";
import { ErrorNote } from "@/ui/ErrorNote";
import { Spinner } from "@/ui/Loading";
import { Sidebar, TopBar } from "./Navigation";
import { Palette } from "./palette";
import { usePaletteKey } from "./usePaletteKey";
import { ViewerContext } from "./viewer";
import { type Waits, WaitsContext } from "./waits";

const WaitWatch = lazy(() => import("./WaitWatch"));

/** The frame of all pages behind the sign-in. */
export function AppShell() {
  const [{ data, error, fetching }, reload] = useQuery({ query: ViewerDocument });
  const [paletteOpen, setPaletteOpen] = useState(false);
  const [waits, setWaits] = useState<Waits>({ version: 0, count: null });
  usePaletteKey(() => setPaletteOpen((open) => !open));

  // Without a sign-in the client is already on its way to the sign-in page.
  if (!data || hasCode(error, "UNAUTHENTICATED")) {
    return (
      <div className="flex h-full items-center justify-center p-4">
        {error && !fetching && !hasCode(error, "UNAUTHENTICATED") ? (
          <ErrorNote onRetry={() => reload({ requestPolicy: "network-only" })}>
            {describeError(error)}
          </ErrorNote>
        ) : (
          <Spinner />
        )}
      </div>
    );
  }

  return (
    <ViewerContext value={data.viewer}>
      <WaitsContext value={waits}>
        <a
          href="#main"
          className="sr-only z-50 rounded-md bg-primary px-3 py-1.5 text-on-primary focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
        >
          Skip to content
        </a>
        <div className="flex h-dvh flex-col md:flex-row">
          <Sidebar onSearch={() => setPaletteOpen(true)} />
          <TopBar onSearch={() => setPaletteOpen(true)} />
          <main
            id="main"
            tabIndex={-1}
            className="flex min-h-0 min-w-0 flex-1 flex-col outline-none"
          >
            <Suspense
              fallback={
                <div className="p-6">
                  <Spinner />
                </div>
              }
            >
              <Outlet />
            </Suspense>
          </main>
        </div>
        {paletteOpen && (
          <Suspense>
            <Palette onClose={() => setPaletteOpen(false)} />
          </Suspense>
        )}
        {data.viewer.permissions.includes("SESSIONS_READ") && (
          <Suspense>
            <WaitWatch onChange={setWaits} />
          </Suspense>
        )}
      </WaitsContext>
    </ViewerContext>
  );
}

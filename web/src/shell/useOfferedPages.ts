import { useQuery } from "urql";
import { ViewerDocument } from "@/gql/graphql";
import { offeredPages } from "./pages";
import { useViewer } from "./viewer";

/** The pages that the viewer is led to on this server. */
export function useOfferedPages() {
  const { permissions } = useViewer();
  const [{ data }] = useQuery({ query: ViewerDocument, requestPolicy: "cache-only" });
  return offeredPages(permissions, data?.serverInfo.payments ?? false);
}

import { useQuery } from "urql";
import { FirstMembersDocument } from "@/gql/graphql";
import { useMay } from "@/shell/viewer";

/** Whether the viewer is the only member of the organization; false while nobody knows. */
export function useAlone(ask: boolean): boolean {
  const mayRead = useMay("MEMBERS_READ");
  const [{ data }] = useQuery({ query: FirstMembersDocument, pause: !ask || !mayRead });
  return ask && data?.org.members?.nodes.length === 1;
}

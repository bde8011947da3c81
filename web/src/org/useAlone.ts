import { useQuery } from "urql";
import { FirstMembersDocument } from "@/gql/graphql";
import { useMay } from "@/shell/viewer";

/** Whether the viewer is the only member of the organization; undefined while that is unknown. */
export function useAlone(ask: boolean): boolean | undefined {
  const mayRead = useMay("MEMBERS_READ");
  const [{ data }] = useQuery({ query: FirstMembersDocument, pause: !ask || !mayRead });
  const members = data?.org.members;
  return ask && members ? members.nodes.length === 1 : undefined;
}

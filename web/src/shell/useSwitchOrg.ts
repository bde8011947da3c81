import { useState } from "react";
import { useMutation } from "urql";
import { describeError } from "@/api/errors";
import { SwitchOrgDocument } from "@/gql/graphql";

/** Changes to another organization. A full load forgets all data of the one that is left. */
export function useSwitchOrg() {
  const [, switchOrg] = useMutation(SwitchOrgDocument);
  const [problem, setProblem] = useState<string | null>(null);
  const change = async (orgId: string) => {
    const { data, error } = await switchOrg({ orgId });
    const refused = data?.switchOrg.userErrors[0];
    if (error) setProblem(describeError(error));
    else if (refused) setProblem(refused.message);
    else location.assign("/");
  };
  return { change: (orgId: string) => void change(orgId), problem };
}

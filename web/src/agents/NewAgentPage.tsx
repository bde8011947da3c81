import { useNavigate } from "@tanstack/react-router";
import { useMutation } from "urql";
import { NewDefinition } from "@/definitions/NewDefinition";
import { CreateAgentDocument } from "@/gql/graphql";
import { useViewer } from "@/shell/viewer";
import { AgentEditor } from "./AgentEditor";
import { createInput, draftProblems, emptyDraft } from "./draft";

export function NewAgentPage() {
  const navigate = useNavigate();
  const [{ fetching, error }, create] = useMutation(CreateAgentDocument);
  return (
    <NewDefinition
      kind="agent"
      // It names harnesses and models of the organization that it was begun in.
      storageKey={`ostler.agent.new.${useViewer().org.id}`}
      empty={emptyDraft}
      problemsOf={draftProblems}
      fetching={fetching}
      error={error}
      create={async (draft) => {
        const { data } = await create({ input: createInput(draft) });
        const agent = data?.createAgent.agent;
        if (!agent) return data?.createAgent.userErrors ?? [];
        void navigate({ to: "/agents/$agentId", params: { agentId: agent.id } });
        return null;
      }}
      editor={(props) => <AgentEditor {...props} saved={null} />}
    />
  );
}

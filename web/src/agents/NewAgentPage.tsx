import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useMutation } from "urql";
import { describeError, type UserError } from "@/api/errors";
import { CreateAgentDocument } from "@/gql/graphql";
import { useViewer } from "@/shell/viewer";
import { Button } from "@/ui/Button";
import { PageHeader } from "@/ui/PageHeader";
import { useStoredState } from "@/ui/useStoredState";
import { AgentEditor } from "./AgentEditor";
import { createInput, draftProblems, emptyDraft, sameDraft } from "./draft";

export function NewAgentPage() {
  const navigate = useNavigate();
  const [stored, setDraft] = useStoredState(
    sessionStorage,
    // It names harnesses and models of the organization that it was begun in.
    `ostler.agent.new.${useViewer().org.id}`,
    emptyDraft,
  );
  // What an older dashboard has stored may lack what the form has got since.
  const draft = { ...emptyDraft, ...stored };
  const [refusals, setRefusals] = useState<readonly UserError[]>([]);
  const [{ fetching, error }, create] = useMutation(CreateAgentDocument);
  const problems = draftProblems(draft);

  const save = async () => {
    const { data } = await create({ input: createInput(draft) });
    setRefusals(data?.createAgent.userErrors ?? []);
    const agent = data?.createAgent.agent;
    if (!agent) return;
    setDraft(emptyDraft);
    void navigate({ to: "/agents/$agentId", params: { agentId: agent.id } });
  };

  return (
    <>
      <PageHeader title="New agent">
        {!sameDraft(draft, emptyDraft) && (
          <Button look="ghost" onClick={() => setDraft(emptyDraft)}>
            Clear
          </Button>
        )}
        <Button
          look="primary"
          type="submit"
          form="agent"
          disabled={fetching || Object.keys(problems).length > 0}
        >
          {fetching ? "Creating…" : "Create agent"}
        </Button>
      </PageHeader>
      <AgentEditor
        draft={draft}
        onChange={setDraft}
        onSubmit={() => void save()}
        refusals={refusals}
        problems={problems}
        failure={error ? describeError(error) : null}
        mode="create"
      />
    </>
  );
}

import { Link, useNavigate } from "@tanstack/react-router";
import { useIdempotencyKey } from "@/api/idempotency";
import { useAction } from "@/api/useAction";
import { useFresh } from "@/api/useFresh";
import { namedOption } from "@/catalog/names";
import { CreateSessionDocument, SessionFormOptionsDocument } from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import { RequestError } from "@/ui/ErrorNote";
import { SelectField, TextField } from "@/ui/Field";
import { FormDialog } from "@/ui/FormDialog";
import { useFields } from "@/ui/useFields";
import { AgentChoice } from "./AgentChoice";
import { onlyAgent } from "./onlyAgent";

const FIELDS = ["agentId", "harnessId", "title"];

interface NewSessionDialogProps {
  /** The agent and the harness of the page before; empty for none. */
  from: { agentId: string; harnessId: string };
  onClose: () => void;
}

export function NewSessionDialog({ from, onClose }: NewSessionDialogProps) {
  const navigate = useNavigate();
  const mayCreateAgents = useMay("CATALOG_WRITE");
  const create = useAction(CreateSessionDocument);
  const [{ agentId: chosen, harnessId, title }, field] = useFields(
    { ...from, agentId: from.agentId || null, title: "" },
    create.refusals,
  );
  const keyOf = useIdempotencyKey();
  const { data: options, error: optionsError } = useFresh(SessionFormOptionsDocument, {
    search: null,
  });
  const agentId = chosen ?? (options ? onlyAgent(options.agents, harnessId) : "");

  const submit = async () => {
    const input = {
      agentId: agentId || null,
      harnessId: harnessId || null,
      title: title.trim() || null,
    };
    const answer = await create.run({ input: { ...input, idempotencyKey: keyOf(input) } });
    const session = answer?.session;
    if (session) {
      void navigate({ to: "/sessions/$sessionId", params: { sessionId: session.id } });
    }
  };

  return (
    <FormDialog
      title="New session"
      action={create.busy ? "Starting…" : "Start session"}
      state={create}
      fields={FIELDS}
      onSubmit={() => void submit()}
      onClose={onClose}
      aside={
        mayCreateAgents && (
          <Link
            to="/agents/new"
            className="mr-auto text-sm text-ink-2 underline-offset-2 hover:underline"
          >
            New agent
          </Link>
        )
      }
    >
      <RequestError error={optionsError} />
      <AgentChoice first={from.agentId} {...field("agentId")} value={agentId} />
      <SelectField
        label="Harness"
        optional
        none={agentId ? "The agent's harness" : "The organization's default"}
        {...field("harnessId")}
        options={options?.harnesses.nodes.map(namedOption)}
      />
      <TextField label="Title" optional {...field("title")} />
    </FormDialog>
  );
}

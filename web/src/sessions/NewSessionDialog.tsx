import { Link, useNavigate } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { fieldErrors } from "@/api/errors";
import { newIdempotencyKey } from "@/api/idempotency";
import { useAction } from "@/api/useAction";
import { useFresh } from "@/api/useFresh";
import { namedOption } from "@/catalog/names";
import { CreateSessionDocument, SessionFormOptionsDocument } from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import { RequestError } from "@/ui/ErrorNote";
import { SelectField, TextField } from "@/ui/Field";
import { FormDialog } from "@/ui/FormDialog";
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
  const [chosen, setAgentId] = useState(from.agentId || null);
  const [harnessId, setHarnessId] = useState(from.harnessId);
  const [title, setTitle] = useState("");
  const attempt = useRef({ input: "", key: "" });
  const create = useAction(CreateSessionDocument);
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
    // A second try of the same, after a lost answer, must give the same session; a key is bound to its input.
    const fingerprint = JSON.stringify(input);
    if (attempt.current.input !== fingerprint) {
      attempt.current = { input: fingerprint, key: newIdempotencyKey() };
    }
    const answer = await create.run({ input: { ...input, idempotencyKey: attempt.current.key } });
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
      <AgentChoice
        first={from.agentId}
        value={agentId}
        onChange={setAgentId}
        errors={fieldErrors(create.refusals, "agentId")}
      />
      <SelectField
        label="Harness"
        optional
        errors={fieldErrors(create.refusals, "harnessId")}
        hint={
          agentId
            ? "Leave empty to use the agent's harness."
            : "Leave empty to use the organization's default."
        }
        none={agentId ? "The agent's harness" : "Default harness"}
        value={harnessId}
        options={options?.harnesses.nodes.map(namedOption)}
        onChange={setHarnessId}
      />
      <TextField
        label="Title"
        optional
        errors={fieldErrors(create.refusals, "title")}
        value={title}
        onChange={setTitle}
      />
    </FormDialog>
  );
}

import { Link, useNavigate } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { useMutation, useQuery } from "urql";
import { describeError, fieldErrors, type UserError } from "@/api/errors";
import { newIdempotencyKey } from "@/api/idempotency";
import { CreateSessionDocument, SessionFormOptionsDocument } from "@/gql/graphql";
import { useMay } from "@/shell/viewer";
import { ErrorNote } from "@/ui/ErrorNote";
import { Field } from "@/ui/Field";
import { FormDialog } from "@/ui/FormDialog";
import { AgentChoice } from "./AgentChoice";

const FIELDS = ["agentId", "harnessId", "title"];

interface NewSessionDialogProps {
  /** The agent that is chosen at first; empty for none. */
  agentId: string;
  onClose: () => void;
}

export function NewSessionDialog({ agentId: initialAgent, onClose }: NewSessionDialogProps) {
  const navigate = useNavigate();
  const mayCreateAgents = useMay("CATALOG_WRITE");
  const [agentId, setAgentId] = useState(initialAgent);
  const [harnessId, setHarnessId] = useState("");
  const [title, setTitle] = useState("");
  const [refusals, setRefusals] = useState<readonly UserError[]>([]);
  const attempt = useRef({ input: "", key: "" });
  const [{ fetching, error }, create] = useMutation(CreateSessionDocument);
  const [{ data: options, error: optionsError }] = useQuery({
    query: SessionFormOptionsDocument,
    variables: { search: null },
    requestPolicy: "cache-and-network",
  });

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
    const { data } = await create({ input: { ...input, idempotencyKey: attempt.current.key } });
    setRefusals(data?.createSession.userErrors ?? []);
    const session = data?.createSession.session;
    if (session) {
      void navigate({ to: "/sessions/$sessionId", params: { sessionId: session.id } });
    }
  };

  return (
    <FormDialog
      title="New session"
      action={fetching ? "Starting…" : "Start session"}
      failure={error ? describeError(error) : null}
      refusals={refusals}
      fields={FIELDS}
      disabled={fetching}
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
      {optionsError && <ErrorNote>{describeError(optionsError)}</ErrorNote>}
      <AgentChoice
        value={agentId}
        onChange={setAgentId}
        errors={fieldErrors(refusals, "agentId")}
      />
      <Field
        label="Harness"
        optional
        errors={fieldErrors(refusals, "harnessId")}
        hint={
          agentId
            ? "Leave empty to use the agent's harness."
            : "Leave empty to use the organization's default."
        }
      >
        {(control) => (
          <select
            {...control}
            className="control"
            value={harnessId}
            onChange={(event) => setHarnessId(event.target.value)}
          >
            <option value="">{agentId ? "The agent's harness" : "Default harness"}</option>
            {options?.harnesses.nodes.map(({ id, name, displayName }) => (
              <option key={id} value={id}>
                {displayName} ({name})
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Title" optional errors={fieldErrors(refusals, "title")}>
        {(control) => (
          <input
            {...control}
            className="control"
            autoComplete="off"
            value={title}
            onChange={(event) => setTitle(event.target.value)}
          />
        )}
      </Field>
    </FormDialog>
  );
}

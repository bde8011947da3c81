import { useAction } from "@/api/useAction";
import { useFresh } from "@/api/useFresh";
import { ModelOptions } from "@/catalog/ModelOptions";
import { RerunModelsDocument, RerunTurnDocument } from "@/gql/graphql";
import { RequestError } from "@/ui/ErrorNote";
import { SelectField } from "@/ui/Field";
import { FormDialog } from "@/ui/FormDialog";
import { useFields } from "@/ui/useFields";
import { useMade } from "../useMade";

interface RerunDialogProps {
  turnId: string;
  onClose: () => void;
}

/** Answers the message of a turn again in a fork that ends before it, and goes there. */
export default function RerunDialog({ turnId, onClose }: RerunDialogProps) {
  const rerun = useAction(RerunTurnDocument);
  const made = useMade();
  const [{ modelId }, field] = useFields({ modelId: "" }, rerun.refusals);
  const { data, error, reload } = useFresh(RerunModelsDocument, {});

  const run = () =>
    made(modelId, (idempotencyKey) =>
      rerun.run({ input: { turnId, modelId: modelId || null, idempotencyKey } }),
    );
  return (
    <FormDialog
      title="Run this turn again"
      action={rerun.busy ? "Starting…" : "Run"}
      state={rerun}
      fields={["modelId"]}
      onSubmit={run}
      onClose={onClose}
    >
      <p className="text-sm text-ink-2">
        The message of this turn is answered again in a fork of the session that ends before it.
        This session stays as it is.
      </p>
      <RequestError error={error} onRetry={reload} />
      <SelectField label="Model" none="The same as before" {...field("modelId")}>
        <ModelOptions models={data?.models.nodes ?? []} chosen={modelId} />
      </SelectField>
    </FormDialog>
  );
}

import { ShieldCheck } from "lucide-react";
import { useState } from "react";
import { useClient } from "urql";
import { describeError } from "@/api/errors";
import { VerifyAuditDocument, type VerifyAuditQuery } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { ErrorNote } from "@/ui/ErrorNote";
import { Spinner } from "@/ui/Loading";

/** Has the server check its chain of entries, and tells what came of it. */
export function ChainCheck() {
  const client = useClient();
  const [open, setOpen] = useState(false);
  const [check, setCheck] = useState<VerifyAuditQuery["verifyAudit"] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);

  const run = async () => {
    setOpen(true);
    setCheck(null);
    setProblem(null);
    const { data, error } = await client
      .query(VerifyAuditDocument, {}, { requestPolicy: "network-only" })
      .toPromise();
    setCheck(data?.verifyAudit ?? null);
    setProblem(error ? describeError(error) : null);
  };
  return (
    <>
      <Button onClick={() => void run()}>
        <ShieldCheck size={15} aria-hidden />
        Verify log
      </Button>
      <Dialog open={open} onClose={() => setOpen(false)} title="Audit log verification">
        <div className="space-y-4 p-4 text-sm">
          {!check && !problem && <Spinner label="Checking" />}
          {problem && <ErrorNote onRetry={() => void run()}>{problem}</ErrorNote>}
          {check && <Result check={check} />}
          <div className="flex justify-end">
            <Button onClick={() => setOpen(false)}>Close</Button>
          </div>
        </div>
      </Dialog>
    </>
  );
}

function Result({ check }: { check: VerifyAuditQuery["verifyAudit"] }) {
  const { ok, entries, checkedFrom, brokenAt, problem } = check;
  const looked = `${entries} ${entries === 1 ? "entry" : "entries"} verified, starting at position ${checkedFrom}.`;
  if (!ok) {
    return (
      <ErrorNote>
        <p className="font-medium">The log is broken at position {brokenAt ?? "unknown"}.</p>
        <p>
          {problem} {looked} The database may have been modified. Run{" "}
          <code className="font-mono text-xs">ostler admin verify-audit</code> and compare with a
          backup.
        </p>
      </ErrorNote>
    );
  }
  return (
    <div
      role="status"
      className="flex gap-2.5 rounded-md border border-ok/25 bg-ok-soft px-3 py-2.5 text-ok"
    >
      <ShieldCheck size={16} className="mt-0.5 shrink-0" aria-hidden />
      <div className="min-w-0">
        <p className="font-medium">The log is intact.</p>
        <p>
          {looked}
          {checkedFrom > 1 &&
            " Earlier entries were removed by retention or need ostler admin verify-audit."}
        </p>
      </div>
    </div>
  );
}

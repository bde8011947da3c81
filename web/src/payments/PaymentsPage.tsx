import { Link, useSearch } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";
import { useMay } from "@/shell/viewer";
import { Button } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { PageHeader } from "@/ui/PageHeader";
import { PaymentList } from "./PaymentList";
import { NewPolicyDialog } from "./PolicyDialogs";
import { PolicyList } from "./PolicyList";

/** What tools have paid, and, for those who say so, what they may pay. */
export function PaymentsPage() {
  const mayManage = useMay("BUDGETS_MANAGE");
  const { view } = useSearch({ from: "/app/payments" });
  const [creating, setCreating] = useState(false);
  const policies = mayManage && view === "policies";
  return (
    <>
      <PageHeader title="Payments">
        {mayManage && (
          <>
            <nav aria-label="Views of payments" className="flex gap-1">
              <ViewLink open={!policies}>Payments</ViewLink>
              <ViewLink open={policies} view="policies">
                Policies
              </ViewLink>
            </nav>
            {policies && (
              <Button look="primary" onClick={() => setCreating(true)}>
                <Plus size={15} aria-hidden />
                New policy
              </Button>
            )}
          </>
        )}
      </PageHeader>
      {policies ? (
        <div className="min-h-0 flex-1 overflow-y-auto">
          <PolicyList onCreate={() => setCreating(true)} />
        </div>
      ) : (
        <PaymentList />
      )}
      {creating && policies && <NewPolicyDialog onClose={() => setCreating(false)} />}
    </>
  );
}

interface ViewLinkProps {
  view?: "policies";
  open: boolean;
  children: string;
}

function ViewLink({ view, open, children }: ViewLinkProps) {
  return (
    <Link
      to="/payments"
      search={view ? { view } : {}}
      aria-current={open ? "page" : undefined}
      className={classes(
        "rounded-md px-2.5 py-1.5 text-sm",
        open ? "bg-line font-medium text-ink" : "text-ink-2 hover:bg-hover hover:text-ink",
      )}
    >
      {children}
    </Link>
  );
}

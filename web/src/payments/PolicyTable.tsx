import { Ellipsis, Pencil, Power, Trash2 } from "lucide-react";
import { formatAmount } from "@/money/amounts";
import { Badge } from "@/ui/Badge";
import { IconButton } from "@/ui/Button";
import { type Column, DataTable } from "@/ui/DataTable";
import { Menu, MenuItem } from "@/ui/Menu";
import type { Policy } from "./words";

/** What opens a dialog. */
export type PolicyAct = "edit" | "switch" | "delete";

interface PolicyTableProps {
  policies: readonly Policy[];
  onAct: (what: PolicyAct, policy: Policy) => void;
}

export function PolicyTable({ policies, onAct }: PolicyTableProps) {
  const status = ({ enabled }: Policy) => (
    <Badge tone={enabled ? "ok" : "neutral"}>{enabled ? "Enabled" : "Disabled"}</Badge>
  );
  const columns: Column<Policy>[] = [
    {
      head: "Policy",
      cell: (policy) => (
        <>
          <span className="font-medium wrap-anywhere">{policy.name}</span>
          <span className="block font-mono text-2xs wrap-anywhere text-ink-3">{policy.url}</span>
          <span className="mt-1 block md:hidden">
            <WhoPaysWhom policy={policy} />
          </span>
          <span className="mt-1 block sm:hidden">{status(policy)}</span>
        </>
      ),
    },
    { head: "Payer and payees", from: "md", cell: (policy) => <WhoPaysWhom policy={policy} /> },
    {
      head: "Limits",
      className: "tabular-nums",
      cell: ({ maxPerRequest, maxPerTurn, maxPerDay, approvalAbove }) => (
        <>
          <span className="block">{formatAmount(maxPerRequest, "usd")} per payment</span>
          <span className="block">{formatAmount(maxPerTurn, "usd")} per turn</span>
          <span className="block">{formatAmount(maxPerDay, "usd")} per day</span>
          {approvalAbove !== null && (
            <span className="block text-xs text-ink-3">
              approval above {formatAmount(approvalAbove, "usd")}
            </span>
          )}
        </>
      ),
    },
    { head: "Status", from: "sm", cell: status },
    {
      head: "",
      align: "right",
      cell: (policy) => (
        <Menu
          trigger={
            <IconButton label={`Actions for the policy ${policy.name}`} className="-my-1.5">
              <Ellipsis size={16} />
            </IconButton>
          }
        >
          <MenuItem icon={<Pencil size={14} />} onSelect={() => onAct("edit", policy)}>
            Edit…
          </MenuItem>
          <MenuItem icon={<Power size={14} />} onSelect={() => onAct("switch", policy)}>
            {policy.enabled ? "Disable…" : "Enable…"}
          </MenuItem>
          <MenuItem icon={<Trash2 size={14} />} onSelect={() => onAct("delete", policy)}>
            Delete…
          </MenuItem>
        </Menu>
      ),
    },
  ];
  return (
    <DataTable
      page
      label="Payment policies"
      rows={policies}
      rowKey={({ id }) => id}
      rowData={({ id }) => ({ "data-policy": id })}
      columns={columns}
    />
  );
}

function WhoPaysWhom({ policy: { capabilities, hosts } }: { policy: Policy }) {
  return (
    <>
      <span className="block text-xs wrap-anywhere text-ink-2">
        Tools of {capabilities.join(", ")}
      </span>
      <span className="block text-xs wrap-anywhere text-ink-3">to {hosts.join(", ")}</span>
    </>
  );
}

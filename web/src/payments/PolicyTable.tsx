import { Ellipsis, Pencil, Power, Trash2 } from "lucide-react";
import { formatAmount } from "@/money/amounts";
import { Badge } from "@/ui/Badge";
import { IconButton } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { Menu, MenuItem } from "@/ui/Menu";
import type { Policy } from "./words";

/** What opens a dialog. */
export type PolicyAct = "edit" | "switch" | "delete";

interface PolicyTableProps {
  policies: readonly Policy[];
  onAct: (what: PolicyAct, policy: Policy) => void;
}

const HEAD = "px-3 py-2 text-2xs font-medium text-ink-3";
const CELL = "px-3 py-2.5 align-top";

export function PolicyTable({ policies, onAct }: PolicyTableProps) {
  return (
    <table className="w-full text-sm" aria-label="Payment policies">
      <thead className="border-b border-line">
        <tr>
          <th scope="col" className={classes(HEAD, "text-left pl-4 sm:pl-6")}>
            Policy
          </th>
          <th scope="col" className={classes(HEAD, "text-left max-md:hidden")}>
            Who pays whom
          </th>
          <th scope="col" className={classes(HEAD, "text-left")}>
            At most
          </th>
          <th scope="col" className={classes(HEAD, "text-left max-sm:hidden")}>
            Status
          </th>
          <th scope="col" className="pr-4 sm:pr-6">
            <span className="sr-only">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {policies.map((each) => (
          <PolicyRow key={each.id} policy={each} onAct={(what) => onAct(what, each)} />
        ))}
      </tbody>
    </table>
  );
}

interface PolicyRowProps {
  policy: Policy;
  onAct: (what: PolicyAct) => void;
}

function PolicyRow({ policy, onAct }: PolicyRowProps) {
  const { id, name, url, maxPerRequest, maxPerTurn, maxPerDay, approvalAbove, enabled } = policy;
  const status = (
    <Badge tone={enabled ? "ok" : "neutral"}>{enabled ? "In force" : "Disabled"}</Badge>
  );
  return (
    <tr data-policy={id} className="border-b border-line hover:bg-hover">
      <th scope="row" className={classes(CELL, "pl-4 text-left font-normal sm:pl-6")}>
        <span className="font-medium wrap-anywhere">{name}</span>
        <span className="block font-mono text-2xs wrap-anywhere text-ink-3">{url}</span>
        <span className="mt-1 block md:hidden">
          <WhoPaysWhom policy={policy} />
        </span>
        <span className="mt-1 block sm:hidden">{status}</span>
      </th>
      <td className={classes(CELL, "max-md:hidden")}>
        <WhoPaysWhom policy={policy} />
      </td>
      <td className={classes(CELL, "tabular-nums")}>
        <span className="block">{formatAmount(maxPerRequest, "usd")} a payment</span>
        <span className="block">{formatAmount(maxPerTurn, "usd")} a turn</span>
        <span className="block">{formatAmount(maxPerDay, "usd")} a day</span>
        {approvalAbove !== null && (
          <span className="block text-xs text-ink-3">
            approval above {formatAmount(approvalAbove, "usd")}
          </span>
        )}
      </td>
      <td className={classes(CELL, "max-sm:hidden")}>{status}</td>
      <td className={classes(CELL, "pr-4 text-right sm:pr-6")}>
        <Menu
          trigger={
            <IconButton label={`Actions for the policy ${name}`} className="-my-1.5">
              <Ellipsis size={16} />
            </IconButton>
          }
        >
          <MenuItem icon={<Pencil size={14} />} onSelect={() => onAct("edit")}>
            Edit…
          </MenuItem>
          <MenuItem icon={<Power size={14} />} onSelect={() => onAct("switch")}>
            {enabled ? "Disable…" : "Enable…"}
          </MenuItem>
          <MenuItem icon={<Trash2 size={14} />} onSelect={() => onAct("delete")}>
            Delete…
          </MenuItem>
        </Menu>
      </td>
    </tr>
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

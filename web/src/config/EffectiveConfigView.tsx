import type { ReactNode } from "react";
import type { EffectiveConfigFieldsFragment } from "@/gql/graphql";
import { Badge } from "@/ui/Badge";
import { Pre } from "@/ui/Pre";
import { byOrigin, originWords } from "./origins";

/** What a turn would run with: the fold of harness, agent and session. */
export function EffectiveConfigView({ config }: { config: EffectiveConfigFieldsFragment }) {
  const from = (of: string) => originWords(config.origins, of);
  return (
    <div className="card divide-y divide-line text-sm">
      <Row label="Model" from={from("model")}>
        {config.model ? (
          <span title={config.model.name}>
            {config.model.displayName}{" "}
            {!config.model.displayName.startsWith(config.model.provider.name) && (
              <span className="text-xs text-ink-3">{config.model.provider.name}</span>
            )}
          </span>
        ) : (
          <span className="text-bad">None. Turns will fail until you choose a model.</span>
        )}
      </Row>
      {config.fallbackModels.length > 0 && (
        <Row label="Fallback models" from={from("fallbackModels")}>
          {config.fallbackModels.map(({ displayName }) => displayName).join(", then ")}
        </Row>
      )}
      <Row label="Model calls per turn" from={from("maxIterations")}>
        <span className="tabular-nums">{config.maxIterations}</span>
      </Row>
      <Row label="After a crash" from={from("streamRecovery")}>
        {config.streamRecovery === "FINALIZE" ? "keep the partial answer" : "retry the call"}
      </Row>
      {config.capabilities.length === 0 && (
        <Row label="Capabilities">
          <span className="text-ink-3">None</span>
        </Row>
      )}
      {byOrigin(config).map(([origin, ids], index) => (
        <Row key={origin} label={index === 0 ? "Capabilities" : ""} from={origin}>
          <span className="flex flex-wrap justify-end gap-1">
            {ids.map((id) => (
              <Badge key={id}>{id}</Badge>
            ))}
          </span>
        </Row>
      ))}
      <div className="p-3">
        <h3 className="section-title mb-1.5">
          System prompt <span className="font-normal normal-case">{from("systemPrompt")}</span>
        </h3>
        {config.systemPrompt === "" ? (
          <p className="text-ink-3">Empty</p>
        ) : (
          <Pre className="max-h-72 overflow-y-auto rounded-md bg-sunken p-2.5 font-mono text-xs leading-5 whitespace-pre-wrap text-ink-2 wrap-anywhere">
            {config.systemPrompt}
          </Pre>
        )}
      </div>
      <div className="p-3">
        <h3 className="section-title mb-1.5">Tools · {config.tools.length}</h3>
        <ul className="space-y-1">
          {config.tools.map((tool) => (
            <Tool key={tool.id} tool={tool} />
          ))}
        </ul>
      </div>
    </div>
  );
}

interface RowProps {
  label: string;
  /** Where it comes from. */
  from?: string | null;
  children: ReactNode;
}

function Row({ label, from, children }: RowProps) {
  return (
    <div className="flex items-start justify-between gap-4 px-3 py-2">
      <span className="shrink-0 text-ink-3">{label}</span>
      <span className="min-w-0 text-right">
        {children}
        {from && <span className="block text-xs text-ink-3">{from}</span>}
      </span>
    </div>
  );
}

function Tool({ tool }: { tool: EffectiveConfigFieldsFragment["tools"][number] }) {
  const { hints } = tool;
  return (
    <li>
      <details className="group">
        <summary className="flex items-center gap-1.5 rounded px-1 py-0.5 hover:bg-hover">
          <span className="min-w-0 flex-1 truncate font-mono text-xs">{tool.name}</span>
          {tool.approval === "ALWAYS" && <Badge tone="accent">needs approval</Badge>}
          {tool.approval === "SOMETIMES" && <Badge tone="accent">may need approval</Badge>}
          {hints.client && <Badge tone="accent">client tool</Badge>}
          {hints.readonly && <Badge>read-only</Badge>}
          {hints.openWorld && <Badge tone="warn">external access</Badge>}
          {hints.destructive && <Badge tone="bad">destructive</Badge>}
        </summary>
        <p className="px-1 pt-0.5 pb-1.5 text-xs text-ink-2">{tool.description}</p>
      </details>
    </li>
  );
}

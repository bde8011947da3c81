import { ChevronRight, TriangleAlert } from "lucide-react";
import { useQuery } from "urql";
import { fieldErrors, type UserError } from "@/api/errors";
import { type AgentFormOptionsQuery, HarnessCapabilitiesDocument, type Risk } from "@/gql/graphql";
import { useAlone } from "@/org/useAlone";
import { Badge, type Tone } from "@/ui/Badge";
import { classes } from "@/ui/classes";
import { ErrorNote } from "@/ui/ErrorNote";
import { Pre } from "@/ui/Pre";
import { type DraftCapability, wantsOthers } from "./capabilities";

type Capability = AgentFormOptionsQuery["capabilities"][number];

interface CapabilityPickerProps {
  capabilities: readonly Capability[];
  /** Empty for the default of the organization. */
  harnessId: string;
  picked: DraftCapability[];
  onChange: (picked: DraftCapability[]) => void;
  refusals: readonly UserError[];
  problem: string | undefined;
}

export function CapabilityPicker({
  capabilities,
  harnessId,
  picked,
  onChange,
  refusals,
  problem,
}: CapabilityPickerProps) {
  const [{ data }] = useQuery({
    query: HarnessCapabilitiesDocument,
    variables: { id: harnessId },
    pause: harnessId === "",
  });
  const chain = harnessId === "" ? [] : (data?.harness?.chain ?? []);
  const inherited = new Set(chain.flatMap((link) => link.capabilities.map(({ id }) => id)));
  const change = (id: string, config: string | null) => {
    const exists = picked.some((each) => each.id === id);
    if (config === null) onChange(picked.filter((each) => each.id !== id));
    else if (exists) onChange(picked.map((each) => (each.id === id ? { id, config } : each)));
    else onChange([...picked, { id, config }]);
  };
  const othersDecide = picked.some(wantsOthers);
  const alone = useAlone(othersDecide);
  const errors = [...(problem ? [problem] : []), ...fieldErrors(refusals, "capabilities")];

  return (
    <section aria-labelledby="capabilities-title">
      <div className="mb-1.5 flex items-baseline justify-between">
        <h2 id="capabilities-title" className="text-sm font-medium">
          Capabilities
        </h2>
        <span className="text-xs text-ink-3 tabular-nums">{picked.length} added</span>
      </div>
      {errors.length > 0 && (
        <div className="mb-2">
          <ErrorNote>{errors.join(" ")}</ErrorNote>
        </div>
      )}
      {alone && (
        <p role="note" className="mb-2 text-xs text-warn">
          You are the only member of this organization, and these approvals need somebody else: you
          could only deny the calls of your own turns. Invite somebody, or set{" "}
          {'{"allowSelf": true}'} and no quorum above 1 in the settings of approvals.
        </p>
      )}
      <ul className="card divide-y divide-line">
        {capabilities.map((capability) => (
          <CapabilityRow
            key={capability.id}
            capability={capability}
            inherited={inherited.has(capability.id)}
            picked={picked.find(({ id }) => id === capability.id)}
            onChange={(config) => change(capability.id, config)}
          />
        ))}
      </ul>
    </section>
  );
}

interface CapabilityRowProps {
  capability: Capability;
  /** The harness brings it already. */
  inherited: boolean;
  picked: DraftCapability | undefined;
  /** Gets null to take it away. */
  onChange: (config: string | null) => void;
}

function CapabilityRow({ capability, inherited, picked, onChange }: CapabilityRowProps) {
  const { id, name, description, status, tools, dependsOn, configSchema } = capability;
  const unavailable = status === "COMING_SOON" && !picked;
  return (
    <li className="px-3 py-2.5">
      <label className={classes("flex items-start gap-3", unavailable && "opacity-60")}>
        <input
          type="checkbox"
          className="mt-0.75 size-3.5 accent-accent"
          checked={picked !== undefined}
          disabled={unavailable}
          onChange={(event) => onChange(event.target.checked ? "" : null)}
        />
        <span className="min-w-0 flex-1">
          <span className="flex flex-wrap items-center gap-1.5">
            <span className="text-sm font-medium">{name}</span>
            <RiskMark capability={capability} />
            {inherited && <Badge tone="accent">inherited</Badge>}
            {status === "COMING_SOON" && <Badge>coming soon</Badge>}
            {status === "DEPRECATED" && <Badge tone="warn">deprecated</Badge>}
          </span>
          <span className="block text-xs text-ink-2">{description}</span>
          {dependsOn.length > 0 && (
            <span className="block text-xs text-ink-3">Brings {dependsOn.join(", ")}</span>
          )}
        </span>
        <span
          className="text-xs whitespace-nowrap text-ink-3 tabular-nums"
          title={tools.map((tool) => tool.name).join("\n")}
        >
          {tools.length} {tools.length === 1 ? "tool" : "tools"}
        </span>
      </label>
      {picked && (hasSettings(configSchema) || picked.config !== "") && (
        <details className="group mt-2 ml-6.5" open={picked.config !== ""}>
          <summary className="inline-flex items-center gap-1 text-xs text-ink-2 hover:text-ink">
            <ChevronRight size={13} className="transition-transform group-open:rotate-90" />
            Settings (JSON)
          </summary>
          <textarea
            aria-label={`Settings of ${id}`}
            rows={4}
            spellCheck={false}
            className="control mt-1.5 font-mono text-xs"
            placeholder="{}"
            value={picked.config}
            onChange={(event) => onChange(event.target.value)}
          />
          {hasSettings(configSchema) && (
            <Pre className="mt-1.5 max-h-40 overflow-auto rounded-md bg-sunken p-2 font-mono text-2xs text-ink-3">
              {JSON.stringify(configSchema, null, 2)}
            </Pre>
          )}
        </details>
      )}
    </li>
  );
}

function hasSettings(schema: unknown): boolean {
  if (typeof schema !== "object" || schema === null || !("properties" in schema)) return false;
  return Object.keys(schema.properties ?? {}).length > 0;
}

const RISKS: Record<Risk, { tone: Tone; label: string }> = {
  LOW: { tone: "neutral", label: "low risk" },
  MEDIUM: { tone: "warn", label: "medium risk" },
  HIGH: { tone: "bad", label: "high risk" },
};

function RiskMark({ capability: { risk, tools } }: { capability: Capability }) {
  // What brings no tools does no harm by itself: it guards what others do.
  if (risk === "HIGH" && tools.length === 0) return <Badge>policy</Badge>;
  const { tone, label } = RISKS[risk];
  return (
    <Badge tone={tone} title="How much harm it can do">
      {risk === "HIGH" && <TriangleAlert size={11} aria-hidden />}
      {label}
    </Badge>
  );
}

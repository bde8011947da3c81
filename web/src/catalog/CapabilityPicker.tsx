import { TriangleAlert } from "lucide-react";
import { Suspense, useState } from "react";
import { useQuery } from "urql";
import { fieldErrors, type UserError } from "@/api/errors";
import { lazy } from "@/api/reachable";
import type { References } from "@/forms/context";
import { type FieldError, settingsErrors } from "@/forms/errors";
import type { Schema } from "@/forms/schema";
import {
  type AgentFormOptionsQuery,
  type EffectiveConfigFieldsFragment,
  HarnessCapabilitiesDocument,
  type Risk,
} from "@/gql/graphql";
import { useAlone } from "@/org/useAlone";
import { Badge, type Tone } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { ErrorNote } from "@/ui/ErrorNote";
import { Spinner } from "@/ui/Loading";
import {
  configText,
  type DraftCapability,
  type Source,
  sourcesOf,
  wantsOthers,
} from "./capabilities";

const SettingsEditor = lazy(() => import("@/forms/SettingsEditor"));

type Capability = AgentFormOptionsQuery["capabilities"][number];

interface CapabilityPickerProps {
  capabilities: readonly Capability[];
  /** Empty for the default of the organization. */
  harnessId: string;
  /** What the draft leads to, as far as it is known. */
  effective: EffectiveConfigFieldsFragment | null;
  models: AgentFormOptionsQuery["models"]["nodes"];
  picked: DraftCapability[];
  onChange: (picked: DraftCapability[]) => void;
  refusals: readonly UserError[];
  problem: string | undefined;
}

export function CapabilityPicker({
  capabilities,
  harnessId,
  effective,
  models,
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
  const sources = sourcesOf(harnessId === "" ? [] : (data?.harness?.chain ?? []));
  // What is known to be in effect lags behind: a capability that was picked here may be gone from the draft by now.
  const [own, setOwn] = useState(() => new Set(picked.map(({ id }) => id)));
  const included = new Set(
    effective?.capabilities.map(({ id }) => id).filter((id) => !own.has(id)),
  );
  const references: References = {
    tool: effective?.tools.map(({ name, displayName, hints }) => ({
      name,
      displayName,
      destructive: hints.destructive,
    })),
    capability: capabilities.map(({ id, name }) => ({ name: id, displayName: name })),
    model: models.map(({ id, displayName }) => ({ name: id, displayName })),
  };
  const change = (id: string, config: string | null) => {
    setOwn((ids) => (ids.has(id) ? ids : new Set([...ids, id])));
    const exists = picked.some((each) => each.id === id);
    if (config === null) onChange(picked.filter((each) => each.id !== id));
    else if (exists) onChange(picked.map((each) => (each.id === id ? { id, config } : each)));
    else onChange([...picked, { id, config }]);
  };
  const othersDecide = picked.find(wantsOthers);
  const alone = useAlone(othersDecide !== undefined);
  // What is wrong with settings is shown in their form.
  const others = refusals.filter(
    (refusal) => !picked.some((_, index) => settingsErrors([refusal], index).length > 0),
  );
  const errors = [...(problem ? [problem] : []), ...fieldErrors(others, "capabilities")];

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
      <ul className="card divide-y divide-line">
        {capabilities.map((capability) => (
          <CapabilityRow
            key={capability.id}
            capability={capability}
            source={sources.get(capability.id)}
            included={included.has(capability.id)}
            picked={picked.find(({ id }) => id === capability.id)}
            lacksOthers={alone === true && othersDecide?.id === capability.id}
            errors={settingsErrors(
              refusals,
              picked.findIndex(({ id }) => id === capability.id),
            )}
            references={references}
            onChange={(config) => change(capability.id, config)}
          />
        ))}
      </ul>
    </section>
  );
}

interface CapabilityRowProps {
  capability: Capability;
  /** The harness that brings it already. */
  source: Source | undefined;
  /** It is in effect without being picked: every agent has it, or another capability brings it. */
  included: boolean;
  picked: DraftCapability | undefined;
  /** It needs somebody else to decide, and there is nobody. */
  lacksOthers: boolean;
  /** What is wrong with its settings. */
  errors: readonly FieldError[];
  references: References;
  /** Gets null to take it away. */
  onChange: (config: string | null) => void;
}

function CapabilityRow(props: CapabilityRowProps) {
  const { capability, source, included, picked, onChange } = props;
  const { name, description, status, tools, dependsOn, configSchema, defaultConfig } = capability;
  const unavailable = status === "COMING_SOON" && !picked;
  const given = !picked && (source !== undefined || included);
  const configurable = hasSettings(configSchema);
  return (
    <li className="px-3 py-2.5">
      <label className={classes("flex items-start gap-3", unavailable && "opacity-60")}>
        <input
          type="checkbox"
          className="mt-0.75 size-3.5 accent-accent"
          checked={picked !== undefined || given}
          disabled={unavailable || given}
          onChange={(event) => onChange(event.target.checked ? configText(defaultConfig) : null)}
        />
        <span className="min-w-0 flex-1">
          <span className="flex flex-wrap items-center gap-1.5">
            <span className="text-sm font-medium">{name}</span>
            <RiskMark capability={capability} />
            {source ? (
              <Badge tone="accent">from {source.harness}</Badge>
            ) : (
              given && <Badge tone="accent">included</Badge>
            )}
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
      {given && configurable && (
        <Button
          className="mt-2 ml-6.5"
          onClick={() => onChange(configText(source?.config ?? defaultConfig))}
        >
          Change settings
        </Button>
      )}
      {props.lacksOthers && (
        <p role="note" className="mt-3 text-xs text-warn sm:ml-6.5">
          You are the only member of this organization, and these approvals need somebody else: you
          could only deny the calls of your own turns. Invite somebody, or let people approve their
          own turns, with 1 approval needed.
        </p>
      )}
      {picked && (configurable || picked.config !== "") && (
        <div className="mt-3 sm:ml-6.5">
          <Suspense fallback={<Spinner />}>
            <SettingsEditor
              label={`Settings of ${name}`}
              short="Settings"
              schema={(configSchema ?? { type: "object" }) as Schema}
              text={picked.config}
              onChange={onChange}
              errors={props.errors}
              references={props.references}
            />
          </Suspense>
        </div>
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

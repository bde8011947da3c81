import type { CapabilityRefInput } from "@/gql/graphql";

/** A capability as a form holds it. */
export interface DraftCapability {
  id: string;
  /** JSON as it is typed; empty for none. */
  config: string;
}

export function draftCapabilities(
  refs: readonly { id: string; config?: unknown }[],
): DraftCapability[] {
  return refs.map(({ id, config }) => ({ id, config: configText(config) }));
}

/** Settings as they are edited; empty for none. */
export function configText(config: unknown): string {
  return config === null || config === undefined ? "" : JSON.stringify(config, null, 2);
}

/** Where a capability that the draft doesn't attach itself comes from. */
export interface Source {
  /** The name of the harness. */
  harness: string;
  /** The settings there. */
  config: unknown;
}

/** What a line of harnesses brings, by capability. The last one that attaches it counts. */
export function sourcesOf(
  chain: readonly {
    displayName: string;
    capabilities: readonly { id: string; config?: unknown }[];
  }[],
): Map<string, Source> {
  return new Map(
    chain.flatMap(({ displayName, capabilities }) =>
      capabilities.map(({ id, config }) => [id, { harness: displayName, config }] as const),
    ),
  );
}

/** Says which settings are not JSON; null when all are. */
export function capabilityProblem(capabilities: readonly DraftCapability[]): string | null {
  const broken = capabilities.filter(({ config }) => parseConfig(config) === BROKEN);
  if (broken.length === 0) return null;
  return `Invalid JSON in the settings of ${broken.map(({ id }) => id).join(", ")}.`;
}

export function capabilityInputs(capabilities: readonly DraftCapability[]): CapabilityRefInput[] {
  return capabilities.map(({ id, config }) => {
    const parsed = parseConfig(config);
    return { id, config: parsed === BROKEN ? null : parsed };
  });
}

interface ApprovalTerms {
  allowSelf?: boolean;
  quorum?: number;
}

interface ApprovalSettings extends ApprovalTerms {
  rules?: readonly (ApprovalTerms & { approve: string })[];
  default?: string;
}

/** Whether some calls need an approval that the one who started the turn can't give alone. */
export function wantsOthers({ id, config }: DraftCapability): boolean {
  const parsed = id === "approvals" ? parseConfig(config) : BROKEN;
  if (typeof parsed !== "object" || Array.isArray(parsed)) return false;
  const { rules, default: otherwise, ...terms } = (parsed ?? {}) as ApprovalSettings;
  const asking = Array.isArray(rules) ? rules.filter((rule) => rule?.approve === "always") : [];
  // Without rules the default is to ask before destructive calls.
  if ((otherwise ?? (rules?.length ? "never" : "destructive")) !== "never") asking.push(terms);
  return asking.some((rule) => {
    const { allowSelf = false, quorum = 1 } = { ...terms, ...rule };
    return !allowSelf || quorum > 1;
  });
}

const BROKEN = Symbol("broken");

function parseConfig(config: string): unknown {
  if (config.trim() === "") return null;
  try {
    return JSON.parse(config) as unknown;
  } catch {
    return BROKEN;
  }
}

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
  return refs.map(({ id, config }) => ({
    id,
    config: config === null || config === undefined ? "" : JSON.stringify(config, null, 2),
  }));
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

/** Whether it has calls approved by somebody else than whoever started the turn. */
export function wantsOthers({ id, config }: DraftCapability): boolean {
  if (id !== "approvals") return false;
  const settings = parseConfig(config);
  if (typeof settings !== "object" || settings === null) return settings === null;
  return (settings as { allowSelf?: unknown }).allowSelf !== true;
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

import type { EffectiveConfigFieldsFragment } from "@/gql/graphql";

type Origin = EffectiveConfigFieldsFragment["origins"][number];

/** Where a part of an effective configuration comes from, e.g. "from Generic"; null where nothing says it. */
export function originWords(origins: readonly Origin[], of: string): string | null {
  const names = origins.filter((each) => each.of === of).map(sourceWords);
  return names.length === 0 ? null : `from ${new Intl.ListFormat("en").format(names)}`;
}

function sourceWords({ source, name }: Origin): string {
  switch (source) {
    case "SERVER":
      return "the server's defaults";
    case "ORGANIZATION":
      return "the organization's defaults";
    case "SESSION":
      return "this session";
    case "AGENT":
      return name ?? "this agent";
    case "HARNESS":
      return name ?? "the harness";
  }
}

/** The capabilities by where they come from. */
export function byOrigin({
  capabilities,
  origins,
}: Pick<EffectiveConfigFieldsFragment, "capabilities" | "origins">): [string, string[]][] {
  const groups = new Map<string, string[]>();
  for (const { id } of capabilities) {
    const from = originWords(origins, `capabilities.${id}`) ?? "";
    groups.set(from, [...(groups.get(from) ?? []), id]);
  }
  return [...groups];
}

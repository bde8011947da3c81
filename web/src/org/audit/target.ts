type Fields = Record<string, unknown>;

interface Page {
  to: string;
  search?: Record<string, string>;
}

/** The pages of what can be the target of an entry, by the prefix of its id. */
const PAGES: Readonly<Record<string, (id: string) => Page>> = {
  agent: (id) => ({ to: `/agents/${id}` }),
  harn: (id) => ({ to: `/harnesses/${id}` }),
  sess: (id) => ({ to: `/sessions/${id}` }),
  bdgt: (id) => ({ to: `/budgets/${id}` }),
  prov: (id) => ({ to: `/models/${id}` }),
  hook: (id) => ({ to: "/organization/webhooks", search: { webhook: id } }),
  key: () => ({ to: "/organization/api-keys" }),
  inv: () => ({ to: "/organization/invitations" }),
  mship: () => ({ to: "/organization/members" }),
};

/** Where a target can be looked at; null where there is no such page. What belongs to a session leads there. */
export function targetPage(targetId: string | null, details: unknown): Page | null {
  const page = targetId && PAGES[targetId.slice(0, targetId.indexOf("_"))];
  if (page) return page(targetId);
  const session = textOf(fieldsOf(details), "sessionId");
  return session === null ? null : { to: `/sessions/${session}` };
}

/** What an entry is about, as its details name it: what was decided, or the name of its target; null where they don't. */
export function subjectOf(action: string, details: unknown): string | null {
  const fields = fieldsOf(details);
  if (action === "approval.decided") {
    const deed = fields.approve === true ? "approved" : "denied";
    return `${textOf(fields, "tool") ?? "a call"} ${deed}`;
  }
  for (const of of [fieldsOf(fields.after), fieldsOf(fields.before), fields]) {
    const name =
      textOf(of, "displayName") ?? textOf(of, "name") ?? textOf(of, "email") ?? textOf(of, "url");
    if (name) return name;
  }
  return null;
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : {};
}

function textOf(fields: Fields, name: string): string | null {
  const value = fields[name];
  return typeof value === "string" && value !== "" ? value : null;
}

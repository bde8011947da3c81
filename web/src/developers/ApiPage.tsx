import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { useFresh } from "@/api/useFresh";
import { namedOption } from "@/catalog/names";
import { SessionFormOptionsDocument } from "@/gql/graphql";
import { NewKeyDialog } from "@/org/keys/NewKeyDialog";
import { useMay, useViewer } from "@/shell/viewer";
import { Button } from "@/ui/Button";
import { CopyBlock } from "@/ui/CopyBlock";
import { RequestError } from "@/ui/ErrorNote";
import { SelectField } from "@/ui/Field";
import { PageHeader } from "@/ui/PageHeader";
import { Toggles } from "@/ui/Toggles";
import { GUIDES } from "./guides";
import { LANGUAGES, type Language, snippet } from "./snippets";

/** From a key to a session in one's own code. */
export function ApiPage() {
  const { org } = useViewer();
  const [language, setLanguage] = useState<Language>("curl");
  const [chosen, setChosen] = useState<string | null>(null);
  const { data, error, reload } = useFresh(SessionFormOptionsDocument, { search: null });
  const agents = data?.agents.nodes ?? [];
  const agentId = chosen ?? agents[0]?.id ?? "";

  return (
    <>
      <PageHeader title="API" />
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto max-w-3xl space-y-8 p-4 sm:p-6">
          <RequestError error={error} onRetry={reload} />
          <Part title="1. Get a key">
            <KeyStep />
          </Part>
          <Part title="2. Run a session">
            <p className="text-sm text-ink-2">
              This program starts a session in {org.name}, asks a question, and prints the tools
              that the agent uses and its answer. It reads the key from{" "}
              <code className="font-mono text-xs">$OSTLER_API_KEY</code>.
            </p>
            <div className="flex flex-wrap items-end justify-between gap-3">
              <Toggles
                label="Language"
                options={LANGUAGES}
                words={(each) => each}
                pressed={(each) => each === language}
                onPress={setLanguage}
              />
              <SelectField
                label="Agent"
                none="No agent"
                value={agentId}
                onChange={setChosen}
                options={agents.map(namedOption)}
                className="w-full sm:w-56"
              />
            </div>
            {data && (
              <CopyBlock
                label="Copy program"
                text={snippet(language, { origin: location.origin, agentId: agentId || null })}
              />
            )}
          </Part>
          <Part title="3. Read on">
            <ul aria-label="Guides" className="grid gap-x-6 gap-y-1.5 text-sm sm:grid-cols-2">
              {GUIDES.map(({ name, title }) => (
                <li key={name}>
                  <Link
                    to="/docs/$guide"
                    params={{ guide: name }}
                    className="underline decoration-line-strong underline-offset-2 hover:decoration-ink"
                  >
                    {title}
                  </Link>
                </li>
              ))}
            </ul>
            <p className="text-sm text-ink-2">
              <Link to="/docs" className="underline underline-offset-2">
                All guides
              </Link>{" "}
              says what each of them is about.
            </p>
          </Part>
          <Part title="IDs">
            <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1 text-sm">
              <Id name="Endpoint">{`${location.origin}/graphql`}</Id>
              <Id name={`Organization ${org.name}`}>{org.id}</Id>
              {agentId && <Id name="Agent">{agentId}</Id>}
            </dl>
          </Part>
        </div>
      </div>
    </>
  );
}

function KeyStep() {
  const mayManage = useMay("API_KEYS_MANAGE");
  const [creating, setCreating] = useState(false);
  if (!mayManage) {
    return (
      <p className="text-sm text-ink-2">
        Ask an administrator for an API key with the permission to write sessions.
      </p>
    );
  }
  return (
    <div className="flex flex-wrap items-center gap-3 text-sm text-ink-2">
      <Button look="primary" onClick={() => setCreating(true)}>
        Create a key
      </Button>
      <span>
        or see{" "}
        <Link to="/organization/api-keys" className="underline underline-offset-2">
          all keys
        </Link>
        . A key acts for the organization, with the permissions that you give it.
      </span>
      {creating && <NewKeyDialog onCreated={() => {}} onClose={() => setCreating(false)} />}
    </div>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="space-y-3">
      <h2 className="text-base font-semibold">{title}</h2>
      {children}
    </section>
  );
}

function Id({ name, children }: { name: string; children: string }) {
  return (
    <>
      <dt className="text-ink-2">{name}</dt>
      <dd className="font-mono text-xs leading-5 wrap-anywhere">{children}</dd>
    </>
  );
}

import { useRef, useState } from "react";
import { useClient } from "urql";
import { describeError } from "@/api/errors";
import { newIdempotencyKey } from "@/api/idempotency";
import { type CreateAgentInput, CreateTrialDocument, SendMessageDocument } from "@/gql/graphql";
import { titleOf } from "@/session/chat/titleOf";

/** A version to talk to: the draft, or what was last saved. */
export interface Version {
  /** Names it beside the other one. */
  label: string;
  input: CreateAgentInput;
}

export interface TrialSession {
  label: string;
  sessionId: string;
}

interface Round {
  /** What the sessions were made of. */
  of: string;
  sessions: readonly TrialSession[];
}

/**
 * Conversations with several versions at once: each message goes to all of them. They begin anew, in new sessions, with the first message
 * after a version has changed.
 */
export function useTrial(agentId: string | null, versions: readonly Version[]) {
  const client = useClient();
  const [round, setRound] = useState<Round | null>(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  // Of one message to these versions: another try after a lost answer makes nothing twice.
  const attempt = useRef({ of: "", key: "" });
  const of = JSON.stringify(versions);

  const begin = async (key: string, title: string): Promise<readonly TrialSession[]> => {
    const sessions: TrialSession[] = [];
    for (const [index, { label, input }] of versions.entries()) {
      const { data, error } = await client
        .mutation(CreateTrialDocument, {
          input: { agentId, draft: input, title, idempotencyKey: `${key}-${index}` },
        })
        .toPromise();
      const made = data?.createSession;
      if (!made?.session) throw new Error(refusalOf(made?.userErrors, error));
      sessions.push({ label, sessionId: made.session.id });
    }
    return sessions;
  };

  const send = async (text: string): Promise<boolean> => {
    const tried = `${of}\n${text}`;
    if (attempt.current.of !== tried) attempt.current = { of: tried, key: newIdempotencyKey() };
    const { key } = attempt.current;
    setBusy(true);
    setProblem(null);
    try {
      const sessions =
        round?.of === of ? round.sessions : await begin(key, `Trial: ${titleOf(text)}`);
      setRound({ of, sessions });
      for (const [index, { sessionId }] of sessions.entries()) {
        const { data, error } = await client
          .mutation(SendMessageDocument, {
            input: {
              sessionId,
              content: [{ text }],
              delivery: "QUEUE",
              idempotencyKey: `${key}-${index}`,
            },
          })
          .toPromise();
        if (!data?.sendMessage.message) {
          throw new Error(refusalOf(data?.sendMessage.userErrors, error));
        }
      }
      attempt.current = { of: "", key: "" };
      return true;
    } catch (failed) {
      setProblem((failed as Error).message);
      return false;
    } finally {
      setBusy(false);
    }
  };

  return {
    sessions: round?.sessions ?? [],
    /** A version has changed since the sessions were made. */
    outdated: round !== null && round.of !== of,
    busy,
    problem,
    send,
  };
}

function refusalOf(
  refusals: readonly { message: string }[] | undefined,
  error: Parameters<typeof describeError>[0] | undefined,
): string {
  return refusals?.[0]?.message ?? (error ? describeError(error) : "The server gave no answer.");
}

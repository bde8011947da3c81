import { useNavigate } from "@tanstack/react-router";
import { useRef } from "react";
import { newIdempotencyKey } from "@/api/idempotency";

interface Made {
  session: { id: string } | null;
}

/**
 * Makes a session of an input and goes there. A second try of the same, after a lost answer, gives the same session: each input
 * has a key of its own until it has been answered.
 */
export function useMade() {
  const navigate = useNavigate();
  const attempt = useRef({ input: "", key: "" });
  return async (
    input: string,
    run: (idempotencyKey: string) => Promise<Made | null>,
    onMade: () => void = () => {},
  ) => {
    if (attempt.current.input !== input || attempt.current.key === "") {
      attempt.current = { input, key: newIdempotencyKey() };
    }
    const made = await run(attempt.current.key);
    if (!made?.session) return;
    attempt.current = { input: "", key: "" };
    onMade();
    void navigate({ to: "/sessions/$sessionId", params: { sessionId: made.session.id } });
  };
}

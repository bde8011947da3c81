import { useNavigate } from "@tanstack/react-router";
import { useRef } from "react";
import { useIdempotencyKey } from "@/api/idempotency";

interface Made {
  session: { id: string } | null;
}

/**
 * Makes a session of an input and goes there; false when that failed. A second try of the same, after a lost answer, gives the same session; once it has
 * been made, the same input makes another one.
 */
export function useMade() {
  const navigate = useNavigate();
  const keyOf = useIdempotencyKey();
  const count = useRef(0);
  return async (
    input: string,
    run: (idempotencyKey: string) => Promise<Made | null>,
    onMade: () => void = () => {},
  ): Promise<boolean> => {
    const made = await run(keyOf({ input, count: count.current }));
    if (!made?.session) return false;
    count.current += 1;
    onMade();
    void navigate({ to: "/sessions/$sessionId", params: { sessionId: made.session.id } });
    return true;
  };
}

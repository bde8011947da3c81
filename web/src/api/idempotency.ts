import { useRef } from "react";

/** A key under which the server does a thing only once. `crypto.randomUUID` is missing outside secure contexts. */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * The key of an input: a second try of the same, after a lost answer, must do nothing anew, and a key is bound to its input.
 */
export function useIdempotencyKey(): (input: object) => string {
  const attempt = useRef({ input: "", key: "" });
  return (input) => {
    const fingerprint = JSON.stringify(input);
    if (attempt.current.input !== fingerprint) {
      attempt.current = { input: fingerprint, key: newIdempotencyKey() };
    }
    return attempt.current.key;
  };
}

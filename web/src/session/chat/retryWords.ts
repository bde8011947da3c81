import type { Retry } from "../feed/state";

/** What failed, and what is done about it. */
export function retryWords(retry: Retry, waitedMs: number): { problem: string; next: string } {
  const { model, nextModel, message, attempt } = retry;
  const problem = `${model}: ${message}`;
  if (nextModel !== model) return { problem, next: `Trying the fallback model ${nextModel}…` };
  const seconds = Math.ceil(Math.max(0, retry.delayMs - waitedMs) / 1000);
  const failed = attempt === 1 ? "1 failed call" : `${attempt} failed calls`;
  return {
    problem,
    next: `Retrying ${seconds > 0 ? `in ${seconds} s` : "now"} (${failed}).`,
  };
}

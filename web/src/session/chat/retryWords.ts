import type { Retry } from "../feed/state";

/** What failed, and what is done about it. */
export function retryWords(retry: Retry, waitedMs: number): { problem: string; next: string } {
  const { model, nextModel, message, attempt } = retry;
  const problem = `${model}: ${message}`;
  if (nextModel !== model) return { problem, next: `Asking the fallback model ${nextModel} …` };
  const seconds = Math.ceil(Math.max(0, retry.delayMs - waitedMs) / 1000);
  const failed = attempt === 1 ? "1 call has failed" : `${attempt} calls have failed`;
  return {
    problem,
    next: seconds > 0 ? `Trying again in ${seconds} s; ${failed}.` : `Trying again now; ${failed}.`,
  };
}

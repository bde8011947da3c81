// @vitest-environment happy-dom

import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { LateInput } from "./LateInput";

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const number = (typed: string) => (/^\d+(\.\d+)?$/.test(typed.trim()) ? typed.trim() : undefined);

it("commits what makes sense, keeps what is being typed, and marks what makes none", async () => {
  const committed: (string | undefined)[] = [];
  const root = createRoot(document.body.appendChild(document.createElement("div")));
  const show = (value?: string) =>
    act(async () =>
      root.render(
        <LateInput value={value} read={number} onCommit={(each) => committed.push(each)} />,
      ),
    );
  const input = () => document.querySelector("input") as HTMLInputElement;
  const type = (text: string) =>
    act(async () => {
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")?.set?.call(
        input(),
        text,
      );
      input().dispatchEvent(new Event("input", { bubbles: true }));
    });
  const pause = () => act(async () => vi.advanceTimersByTime(300));

  await show();
  await type("0");
  await pause();
  await type("0.");
  // The address says what was committed while more is typed.
  await show("0");
  expect(input().value).toBe("0.");
  await pause();
  expect(input().getAttribute("aria-invalid")).toBe("true");
  await type("0.5");
  await pause();
  await show("0.5");
  expect(input().value).toBe("0.5");
  expect(input().getAttribute("aria-invalid")).toBe("false");
  await type("abc");
  await pause();
  expect(committed).toEqual(["0", "0.5"]);
  expect(input()).toMatchObject({ value: "abc" });
  expect(input().getAttribute("aria-invalid")).toBe("true");

  // Such as when all filters are cleared.
  await show();
  expect(input().value).toBe("");
  await act(async () => root.unmount());
});

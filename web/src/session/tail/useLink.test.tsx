// @vitest-environment happy-dom

import { act } from "react";
import { createRoot } from "react-dom/client";
import { expect, it } from "vitest";
import { useLink } from "./useTail";

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
const ROWS = ["a", "b", "c", "d"];

it("leads to what the address names, and leaves alone what the reader has chosen", async () => {
  const led: string[] = [];
  const follow = () => {};
  const list = { scrollToIndex: (index: number) => void led.push(ROWS[index] ?? "") };
  let goneTo = (_: string) => {};
  function View({ call, read = true }: { call?: string; read?: boolean }) {
    goneTo = useLink(call, read && call ? ROWS.indexOf(call) : -1, { follow, list });
    return null;
  }
  const root = createRoot(document.body.appendChild(document.createElement("div")));
  const show = (call?: string, read = true) =>
    act(async () => root.render(<View {...(call && { call })} read={read} />));

  await show("a", false);
  expect(led).toEqual([]);
  await show("a");
  await show("a");
  expect(led).toEqual(["a"]);

  // The list changes while the address still names what was there before.
  goneTo("b");
  await show("a", false);
  await show("a");
  await show("b");
  // Keys that are held down are ahead of the address, which may leave some out.
  goneTo("c");
  goneTo("a");
  goneTo("d");
  await show("c");
  await show("d");
  expect(led).toEqual(["a"]);

  await show("a");
  expect(led).toEqual(["a", "a"]);
  await act(async () => root.unmount());
});

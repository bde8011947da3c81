// @vitest-environment happy-dom

import { act, useRef, useState } from "react";
import { createRoot } from "react-dom/client";
import { expect, it } from "vitest";
import { useWaitKeys } from "./useWaitKeys";

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });

it("decides the card that the reader has gone to, and the next one only after a look", async () => {
  const decided: string[] = [];
  function Inbox() {
    const [waits, setWaits] = useState(["a", "b", "c", "d"]);
    const list = useRef<HTMLDivElement>(null);
    useWaitKeys(list, waits.length);
    return (
      <div ref={list}>
        {waits.map((wait) => (
          <section key={wait} data-wait tabIndex={-1}>
            <button
              type="button"
              aria-keyshortcuts="A"
              onClick={() => {
                decided.push(wait);
                setWaits(waits.filter((each) => each !== wait));
              }}
            >
              Approve
            </button>
          </section>
        ))}
      </div>
    );
  }
  Element.prototype.scrollIntoView = () => {};
  const root = createRoot(document.body.appendChild(document.createElement("div")));
  await act(async () => root.render(<Inbox />));
  const press = async (...keys: string[]) => {
    for (const key of keys) {
      const at = document.activeElement ?? document.body;
      await act(async () => at.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })));
    }
  };

  await press("a");
  expect(decided).toEqual([]);
  await press("j", "a", "a", "a");
  expect(decided).toEqual(["a"]);
  await press("j", "a");
  expect(decided).toEqual(["a", "b"]);
  // From the card that is offered, J goes to it and then past it.
  await press("j", "j", "a");
  expect(decided).toEqual(["a", "b", "d"]);
  await act(async () => window.dispatchEvent(new Event("pointerdown")));
  await press("a");
  expect(decided).toEqual(["a", "b", "d", "c"]);
  await act(async () => root.unmount());
});

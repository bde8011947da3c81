// @vitest-environment happy-dom

import { act, useState } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, expect, it, vi } from "vitest";
import { fieldErrors, type UserError } from "@/api/errors";
import { Field } from "./Field";
import { FormDialog } from "./FormDialog";

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
const REFUSED = [{ code: "INVALID", message: "No such host.", path: ["input", "url"] }];
let unmount = () => {};
afterEach(() => unmount());

async function submitted(refusals: readonly UserError[]): Promise<HTMLElement> {
  function Form() {
    const [got, setGot] = useState<readonly UserError[]>([]);
    return (
      <FormDialog
        title="New webhook"
        action="Create"
        state={{ busy: false, failure: null, refusals: got }}
        fields={["url"]}
        onSubmit={() => setGot(refusals)}
        onClose={() => {}}
      >
        <Field label="URL" errors={fieldErrors(got, "url")}>
          {(control) => <input {...control} />}
        </Field>
        <Field label="Name">{(control) => <input {...control} />}</Field>
      </FormDialog>
    );
  }
  const root = createRoot(document.body.appendChild(document.createElement("div")));
  unmount = () => act(() => root.unmount());
  await act(async () => root.render(<Form />));
  const button = document.querySelector<HTMLElement>("button[type=submit]");
  await act(async () => button?.click());
  return document.activeElement as HTMLElement;
}

it("scrolls to the first refused field and focuses it", async () => {
  const scrolled = vi.fn();
  Element.prototype.scrollIntoView = scrolled;
  const focused = await submitted(REFUSED as unknown as UserError[]);
  expect(focused.tagName).toBe("INPUT");
  expect(focused.getAttribute("aria-invalid")).toBe("true");
  expect(scrolled.mock.contexts[0]).toBe(focused);
});

it("says beside the buttons what no field shows, and keeps the focus there", async () => {
  Element.prototype.scrollIntoView = () => {};
  const other = [{ code: "LIMIT", message: "Too many webhooks.", path: ["input"] }];
  const focused = await submitted(other as unknown as UserError[]);
  expect(focused.getAttribute("type")).toBe("submit");
  expect(focused.closest(".sticky")?.textContent).toContain("Too many webhooks.");
});

// @vitest-environment happy-dom

import fc from "fast-check";
import { act, useState } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, expect, it } from "vitest";
import SettingsEditor from "./SettingsEditor";
import type { Schema } from "./schema";

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
const TOOLS = [
  { name: "read_file", displayName: "Read" },
  { name: "write_file", displayName: "Write", destructive: true },
];
let unmount = () => {};
afterEach(() => unmount());

/** Draws the form of a value; `now` reads what the form has made of it. */
async function drawn(schema: Schema, value: unknown): Promise<{ now: () => unknown }> {
  unmount();
  let latest = JSON.stringify(value);
  function Form() {
    const [text, setText] = useState(latest);
    latest = text;
    return (
      <SettingsEditor
        label="Settings of the test"
        short="Settings"
        schema={schema}
        text={text}
        onChange={setText}
        errors={[]}
        references={{ tool: TOOLS }}
      />
    );
  }
  const root = createRoot(document.body.appendChild(document.createElement("div")));
  unmount = () => {
    act(() => root.unmount());
    document.body.replaceChildren();
  };
  await act(async () => root.render(<Form />));
  return { now: () => JSON.parse(latest) };
}

type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

async function enter(control: Control, text: string): Promise<void> {
  await act(async () => {
    // React keeps the last value on the element, and takes what it knows for no change.
    const own = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(control), "value");
    own?.set?.call(control, text);
    const event = control instanceof HTMLSelectElement ? "change" : "input";
    control.dispatchEvent(new Event(event, { bubbles: true }));
  });
}

/** Chooses the last option, and then what was chosen before. */
async function chooseAnother(select: HTMLSelectElement): Promise<void> {
  const before = select.selectedOptions[0]?.text;
  const last = select.options[select.options.length - 1];
  if (last) await enter(select, last.value);
  const again = [...select.options].find((option) => option.text === before);
  if (again) await enter(select, again.value);
}

const name = fc.stringMatching(/^[a-z]{1,6}$/);
const text = fc.stringMatching(/^[a-zA-Z0-9 ."'{}[\]\\é€-]{1,12}$/);

const tool = fc.constantFrom("read_file", "write_file");

/** A schema together with values that follow it. */
interface Case {
  schema: Schema;
  value: fc.Arbitrary<unknown>;
}

const leaf: fc.Arbitrary<Case> = fc.oneof(
  fc.constant({ schema: { type: "string" }, value: text }),
  fc.constant({ schema: { type: "string", "x-multiline": true }, value: text }),
  fc.constant({ schema: { type: "string", "x-reference": "tool" as const }, value: tool }),
  fc.constant({ schema: { type: "integer", minimum: 0 }, value: fc.integer() }),
  fc.constant({
    schema: { type: "number" },
    value: fc.double({ noNaN: true, noDefaultInfinity: true }).map((each) => each + 0),
  }),
  fc.constant({ schema: { type: "boolean", default: true }, value: fc.boolean() }),
  fc.constant({ schema: { enum: ["one", "two", 3] }, value: fc.constantFrom("one", "two", 3) }),
  fc.constant({
    schema: { enum: ["one", "two"], "x-labels": { one: "The first" } },
    value: fc.constantFrom("one", "two"),
  }),
  fc.constant({
    schema: { oneOf: [{ const: "a", title: "A" }, { const: "b" }] },
    value: fc.constantFrom("a", "b"),
  }),
  fc.constant({
    schema: { type: "array", items: { type: "string" } },
    value: fc.array(text, { maxLength: 3 }),
  }),
  fc.constant({
    schema: { type: "array", items: { type: "string", "x-reference": "tool" as const } },
    value: fc.array(text, { maxLength: 3 }),
  }),
  fc.constant({ schema: {}, value: fc.jsonValue({ maxDepth: 1 }) }),
);

const { object } = fc.letrec<{ object: Case; any: Case }>((tie) => ({
  any: fc.oneof(
    { depthSize: "xsmall", withCrossShrink: true },
    leaf,
    tie("object"),
    list(tie("object")),
    list(leaf),
    map(leaf),
  ),
  object: fc
    .tuple(
      fc.dictionary(name, tie("any"), { maxKeys: 3, noNullPrototype: true }),
      fc.array(fc.nat(5)),
    )
    .map(([fields, orders]) => ({
      schema: {
        type: "object",
        properties: Object.fromEntries(
          Object.entries(fields).map(([key, { schema }], index) => [
            key,
            { ...schema, title: `Field ${key}`, "x-order": orders[index] ?? 9 },
          ]),
        ),
      },
      value: fc
        .record(
          Object.fromEntries(Object.entries(fields).map(([key, { value }]) => [key, value])),
          { requiredKeys: [], noNullPrototype: true },
        )
        .chain((known) =>
          fc
            .dictionary(fc.stringMatching(/^[A-Z]{1,3}$/), fc.jsonValue({ maxDepth: 1 }), {
              maxKeys: 2,
              noNullPrototype: true,
            })
            .map((unknown) => ({ ...known, ...unknown })),
        ),
    })),
}));

function list(of: fc.Arbitrary<Case>): fc.Arbitrary<Case> {
  return of.map(({ schema, value }) => ({
    schema: { type: "array", items: schema },
    value: fc.array(value, { maxLength: 3 }),
  }));
}

function map(of: fc.Arbitrary<Case>): fc.Arbitrary<Case> {
  return of.map(({ schema, value }) => ({
    schema: { type: "object", additionalProperties: schema },
    value: fc.dictionary(name, value, { maxKeys: 3, noNullPrototype: true }),
  }));
}

const RUNS = 40;

it("gives back the value that it was given, after every control was changed and changed back", async () => {
  const cases = object.chain(({ schema, value }) =>
    value.map((each) => ({ schema, value: JSON.parse(JSON.stringify(each)) as unknown })),
  );
  await fc.assert(
    fc.asyncProperty(cases, async ({ schema, value }) => {
      const form = await drawn(schema, value);
      expect(form.now()).toEqual(value);
      const controls = [
        ...document.querySelectorAll<Control>(
          "input:not([type=checkbox], [type=radio], [placeholder]), textarea, select",
        ),
      ]
        .filter((control) => control.value !== "")
        .slice(0, 12);
      for (const control of controls) {
        if (control instanceof HTMLSelectElement) await chooseAnother(control);
        else {
          const before = control.value;
          await enter(control, `${before}1`);
          await enter(control, before);
        }
      }
      expect(form.now()).toEqual(value);
    }),
    { numRuns: RUNS },
  );
}, 120_000);

it("keeps what it does not know when a field is changed", async () => {
  const form = await drawn(
    { type: "object", properties: { note: { type: "string", title: "Note" } } },
    { later: { deep: [1] }, note: "a" },
  );
  const note = document.querySelector<HTMLInputElement>("input");
  if (note) await enter(note, "b");
  expect(form.now()).toEqual({ later: { deep: [1] }, note: "b" });
});

it("takes a number for text until it is one", async () => {
  const form = await drawn({ type: "object", properties: { n: { type: "integer" } } }, { n: 1 });
  const number = document.querySelector<HTMLInputElement>("input");
  if (!number) throw new Error("there is no field");
  await enter(number, "1x");
  expect(number.getAttribute("aria-invalid")).toBe("true");
  await enter(number, "12");
  expect(form.now()).toEqual({ n: 12 });
  await enter(number, "");
  expect(form.now()).toEqual({});
});

it("adds a group of tools as one choice, which says what it is today", async () => {
  const labels = { "@destructive": "All destructive tools" };
  const items = { type: "string", "x-reference": "tool", "x-labels": labels } as const;
  const form = await drawn({ type: "object", properties: { tools: { type: "array", items } } }, {});
  const tools = document.querySelector("select");
  const all = [...(tools?.options ?? [])].find(({ text: words }) => words.startsWith("All"));
  if (!tools || !all) throw new Error("there is no choice of all destructive tools");
  await enter(tools, all.value);
  expect(form.now()).toEqual({ tools: ["@destructive"] });
  expect(document.querySelector("li")?.textContent).toBe("All destructive tools");
  expect(document.querySelector("li span")?.getAttribute("title")).toBe("write_file");
});

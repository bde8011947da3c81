import { describe, expect, it } from "vitest";
import { newClientTool } from "@/catalog/clientTools";
import { moved } from "@/catalog/fallbacks";
import { rebaseDraft } from "@/catalog/rebase";
import { createInput, draftProblems, emptyDraft, previewOf, updateInput } from "./draft";

describe("createInput", () => {
  it("trims, splits tags and leaves out what is empty", () => {
    const input = createInput({
      ...emptyDraft,
      name: " helper ",
      tags: "a, b,, a ",
      maxIterations: "12",
      capabilities: [
        { id: "files", config: "" },
        { id: "shell", config: '{"timeout": 5}' },
      ],
    });
    expect(input).toMatchObject({
      name: "helper",
      displayName: null,
      harnessId: null,
      tags: ["a", "b"],
      maxIterations: 12,
      capabilities: [
        { id: "files", config: null },
        { id: "shell", config: { timeout: 5 } },
      ],
    });
  });
});

describe("updateInput", () => {
  it("names the revision that it changes and not the name", () => {
    const input = updateInput({ ...emptyDraft, name: "helper" }, 7);
    expect(input.revision).toBe(7);
    expect(input).not.toHaveProperty("name");
  });

  it("says why, and keeps the order of the fallback models", () => {
    const draft = { ...emptyDraft, fallbackModelIds: ["model_b", "model_a"] };
    expect(updateInput(draft, 7, "Cheaper at night")).toMatchObject({
      reason: "Cheaper at night",
      fallbackModelIds: ["model_b", "model_a"],
    });
  });
});

describe("draftProblems", () => {
  it("finds bad numbers and bad JSON", () => {
    expect(draftProblems(emptyDraft)).toEqual({});
    expect(draftProblems({ ...emptyDraft, maxIterations: "0" })).toHaveProperty("maxIterations");
    expect(
      draftProblems({ ...emptyDraft, capabilities: [{ id: "files", config: "{" }] }),
    ).toHaveProperty("capabilities");
  });
});

describe("rebaseDraft", () => {
  const base = { ...emptyDraft, displayName: "A", systemPrompt: "P" };

  it("takes their value where I changed nothing, and mine where I did", () => {
    const mine = { ...base, systemPrompt: "mine" };
    const theirs = { ...base, displayName: "theirs" };
    expect(rebaseDraft(base, mine, theirs)).toEqual({
      draft: { ...base, systemPrompt: "mine", displayName: "theirs" },
      clashes: [],
    });
  });

  it("keeps mine and names the field where both changed it", () => {
    const mine = { ...base, systemPrompt: "mine" };
    const theirs = { ...base, systemPrompt: "theirs" };
    const { draft, clashes } = rebaseDraft(base, mine, theirs);
    expect(draft.systemPrompt).toBe("mine");
    expect(clashes).toEqual(["systemPrompt"]);
  });

  it("sees no clash where both made the same change", () => {
    const both = { ...base, tags: "x" };
    expect(rebaseDraft(base, both, both).clashes).toEqual([]);
  });
});

describe("moved", () => {
  it("swaps neighbours, and leaves the ends where they are", () => {
    expect(moved(["a", "b", "c"], 1, -1)).toEqual(["b", "a", "c"]);
    expect(moved(["a", "b", "c"], 1, 1)).toEqual(["a", "c", "b"]);
    expect(moved(["a", "b"], 0, -1)).toEqual(["a", "b"]);
    expect(moved(["a", "b"], 1, 1)).toEqual(["a", "b"]);
  });
});

describe("previewOf", () => {
  const tool = { ...newClientTool, name: "look_up", description: "Looks it up." };

  it("follows the form while a client tool is being typed, and says what is missing", () => {
    const draft = { ...emptyDraft, systemPrompt: "New.", clientTools: [tool, newClientTool] };
    const { input, missing } = previewOf(draft);
    expect(input).toMatchObject({ systemPrompt: "New.", name: "draft" });
    expect(input?.clientTools?.map(({ name }) => name)).toEqual(["look_up"]);
    expect(missing).toMatch(/client tool/);
    expect(previewOf({ ...draft, clientTools: [tool] }).missing).toBeNull();
  });

  it("says why it does not follow what can't be sent", () => {
    const { input, missing } = previewOf({ ...emptyDraft, maxIterations: "many" });
    expect(input).toBeNull();
    expect(missing).toMatch(/whole number/);
  });
});

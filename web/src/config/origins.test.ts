import { expect, it } from "vitest";
import { byOrigin, originWords } from "./origins";

it("says where each part comes from", () => {
  const origins = [
    { of: "systemPrompt", source: "HARNESS" as const, name: "Generic" },
    { of: "systemPrompt", source: "AGENT" as const, name: null },
    { of: "model", source: "ORGANIZATION" as const, name: null },
    { of: "maxIterations", source: "SERVER" as const, name: null },
    { of: "capabilities.files", source: "HARNESS" as const, name: "Generic" },
  ];
  expect(originWords(origins, "systemPrompt")).toBe("from Generic and this agent");
  expect(originWords(origins, "model")).toBe("from the organization's defaults");
  expect(originWords(origins, "maxIterations")).toBe("from the server's defaults");
  expect(originWords(origins, "capabilities.files")).toBe("from Generic");
  expect(originWords(origins, "fallbackModels")).toBeNull();
});

it("puts capabilities together that come from the same place", () => {
  const of = (id: string, name: string) => ({
    of: `capabilities.${id}`,
    source: "HARNESS" as const,
    name,
  });
  const capabilities = ["core", "files", "budget"].map((id) => ({ id, config: null }));
  const origins = [of("core", "Root"), of("files", "Generic"), of("budget", "Root")];
  expect(byOrigin({ capabilities, origins })).toEqual([
    ["from Root", ["core", "budget"]],
    ["from Generic", ["files"]],
  ]);
});

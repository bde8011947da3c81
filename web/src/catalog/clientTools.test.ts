import { describe, expect, it } from "vitest";
import {
  clientToolInputs,
  clientToolProblems,
  clientToolsProblem,
  draftClientTools,
  newClientTool,
} from "./clientTools";

const tool = { ...newClientTool, name: "get_weather", description: "Tells the weather." };

describe("a client tool", () => {
  it("begins with an example that only lacks its name and description", () => {
    expect(Object.keys(clientToolProblems(newClientTool))).toEqual(["name", "description"]);
    expect(clientToolProblems(tool)).toEqual({});
  });

  it("needs a schema whose root is an object", () => {
    for (const inputSchema of ["{", "[]", "null", '{"type": "string"}', "{}"]) {
      expect(clientToolProblems({ ...tool, inputSchema })).toHaveProperty("inputSchema");
    }
  });

  it("needs whole seconds, or none", () => {
    for (const timeoutSeconds of ["0", "-1", "1.5", "soon"]) {
      expect(clientToolProblems({ ...tool, timeoutSeconds })).toHaveProperty("timeoutSeconds");
    }
    expect(clientToolProblems({ ...tool, timeoutSeconds: " 30 " })).toEqual({});
  });

  it("comes back from the server as it was sent", () => {
    const [input] = clientToolInputs([{ ...tool, displayName: "Weather", timeoutSeconds: "30" }]);
    expect(input).toMatchObject({ name: "get_weather", timeoutSeconds: 30 });
    const read = draftClientTools([
      {
        name: "get_weather",
        displayName: "Weather",
        description: "Tells the weather.",
        inputSchema: input?.inputSchema,
        timeoutSeconds: 30,
      },
    ]);
    expect(read).toEqual([{ ...tool, displayName: "Weather", timeoutSeconds: "30" }]);
  });
});

it("finds tools of one name, and names those that have something wrong with them", () => {
  expect(clientToolsProblem([])).toBeNull();
  expect(clientToolsProblem([tool])).toBeNull();
  expect(clientToolsProblem([tool, tool])).toContain("get_weather");
  expect(clientToolsProblem([tool, newClientTool])).toContain("number 2");
});

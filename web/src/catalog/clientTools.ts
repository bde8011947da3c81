import type { AgentDetailFragment, ClientToolInput } from "@/gql/graphql";

/** A client tool as a form holds it: every field as text that a control can show, valid or not. */
export interface DraftClientTool {
  name: string;
  displayName: string;
  description: string;
  /** A JSON Schema. */
  inputSchema: string;
  timeoutSeconds: string;
}

/** A schema to begin with. */
const EXAMPLE_SCHEMA = {
  type: "object",
  properties: { city: { type: "string", description: "The city to look up." } },
  required: ["city"],
};

export const newClientTool: DraftClientTool = {
  name: "",
  displayName: "",
  description: "",
  inputSchema: JSON.stringify(EXAMPLE_SCHEMA, null, 2),
  timeoutSeconds: "",
};

export function draftClientTools(tools: AgentDetailFragment["clientTools"]): DraftClientTool[] {
  return tools.map((tool) => ({
    name: tool.name,
    displayName: tool.displayName,
    description: tool.description,
    inputSchema: JSON.stringify(tool.inputSchema, null, 2),
    timeoutSeconds: tool.timeoutSeconds === null ? "" : String(tool.timeoutSeconds),
  }));
}

/** What is wrong with one tool before it is even sent, by field. */
export function clientToolProblems(
  tool: DraftClientTool,
): Partial<Record<keyof DraftClientTool, string>> {
  const problems: Partial<Record<keyof DraftClientTool, string>> = {};
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(tool.name)) {
    problems.name = "Give 1 to 64 letters, digits, _ or -.";
  }
  if (tool.description.trim() === "") {
    problems.description = "Say what it does: the model decides by this when to call it.";
  }
  const schema = readSchema(tool.inputSchema);
  if (typeof schema === "string") problems.inputSchema = schema;
  if (!/^([1-9]\d{0,8})?$/.test(tool.timeoutSeconds.trim())) {
    problems.timeoutSeconds = "Give whole seconds above zero, or leave it empty to wait for ever.";
  }
  return problems;
}

/** The first name that two tools have; null when each has its own. */
export function nameGivenTwice(tools: readonly DraftClientTool[]): string | null {
  const names = tools.map(({ name }) => name);
  return names.find((name, index) => name !== "" && names.indexOf(name) !== index) ?? null;
}

/** Says which tools have something wrong with them; null when none has. */
export function clientToolsProblem(tools: readonly DraftClientTool[]): string | null {
  const twice = nameGivenTwice(tools);
  if (twice !== null) return `Two client tools have the name ${twice}.`;
  const broken = tools.flatMap((tool, index) =>
    Object.keys(clientToolProblems(tool)).length > 0 ? [tool.name || `number ${index + 1}`] : [],
  );
  return broken.length === 0
    ? null
    : `Something is wrong with the client tool ${broken.join(", ")}.`;
}

/** Only for tools without problems. */
export function clientToolInputs(tools: readonly DraftClientTool[]): ClientToolInput[] {
  return tools.map((tool) => {
    const schema = readSchema(tool.inputSchema);
    return {
      name: tool.name,
      displayName: tool.displayName.trim() || null,
      description: tool.description.trim(),
      inputSchema: typeof schema === "string" ? {} : schema,
      timeoutSeconds: tool.timeoutSeconds.trim() === "" ? null : Number(tool.timeoutSeconds.trim()),
    };
  });
}

/** The schema, or what is wrong with it. */
function readSchema(text: string): object | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `This is not JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return "A schema is a JSON object.";
  }
  if ((value as { type?: unknown }).type !== "object") {
    return 'The root of the schema has to be {"type": "object", …}.';
  }
  return value;
}

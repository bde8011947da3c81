import { describe, expect, it } from "vitest";
import { event, textMessage, turnWithTool } from "../feed/test/events";
import { toJsonLines, toMarkdown } from "./formats";

describe("toJsonLines", () => {
  it("writes each stored event in a line, and nothing that isn't stored", () => {
    const log = turnWithTool();
    const lines = toJsonLines([...log, event("OutputDelta", 9, {})]).split("\n");
    expect(lines.pop()).toBe("");
    expect(lines.map((line) => JSON.parse(line).sequence)).toEqual(
      log.map(({ sequence }) => sequence),
    );
    expect(JSON.parse(lines[1] ?? "")).toMatchObject({
      kind: "MESSAGE_RECEIVED",
      turnId: "turn_1",
    });
  });
});

describe("toMarkdown", () => {
  it("has who said what, and the calls with their results", () => {
    const text = toMarkdown("A title", turnWithTool());
    expect(text).toMatch(
      /^# A title\n\n## You · .*\n\nWrite a file\n\n## Agent · .*\n\nI will write it\./,
    );
    expect(text).toMatch(/### Tool call: write_file\n\n```json\n\{/);
  });

  it("fences what has fences in it", () => {
    const [started, received] = turnWithTool();
    if (!started || !received) throw new Error("the log is empty");
    const text = toMarkdown("t", [
      started,
      received,
      event("ToolStarted", 3, { toolCallId: "c", toolName: "echo", arguments: "```\n````" }),
    ]);
    expect(text).toContain("`````\n```\n````\n`````");
  });

  it("says that a turn failed", () => {
    const text = toMarkdown("t", [
      event("MessageReceived", 1, { message: textMessage("m", "USER", "Hi") }),
      event("TurnStarted", 2, { inputMessageId: "m" }),
      event("TurnFailed", 3, { error: { code: "internal", message: "It broke." } }),
    ]);
    expect(text).toContain("**Failed:** It broke.");
  });

  it("ends a turn with what people think of it", () => {
    const text = toMarkdown("t", [
      ...turnWithTool(),
      event("TurnRated", 21, { rating: "DOWN", comment: "No.\nNot at all.", data: { byId: "u" } }),
    ]);
    expect(text).toMatch(/\n\n> Rated down: No\.\n> Not at all\.\n$/);
  });
});

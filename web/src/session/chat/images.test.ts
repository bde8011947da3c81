import { describe, expect, it } from "vitest";
import { imageFiles, imageProblem, outcomeOf } from "./images";

const answer = (status: number, body: unknown) =>
  new Response(typeof body === "string" ? body : JSON.stringify(body), { status });

describe("imageProblem", () => {
  it("refuses what the server would refuse, by name", () => {
    expect(imageProblem({ name: "a.png", type: "image/png", size: 10 })).toBeNull();
    expect(imageProblem({ name: "a.svg", type: "image/svg+xml", size: 10 })).toContain("a.svg");
    expect(imageProblem({ name: "a.png", type: "image/png", size: 20_000_001 })).toContain("20 MB");
  });
});

describe("outcomeOf", () => {
  it("takes the image that the server has stored", async () => {
    const stored = { id: "img_1", url: "/v1/images/img_1", mediaType: "image/png" };
    expect(await outcomeOf(answer(201, stored), "a.png")).toEqual({
      kind: "uploaded",
      image: { id: "img_1", url: "/v1/images/img_1", name: "a.png" },
    });
  });

  it("says what the server says, with the request id", async () => {
    const refused = { code: "PAYLOAD_TOO_LARGE", message: "Too large.", requestId: "req_1" };
    expect(await outcomeOf(answer(413, refused), "a.png")).toEqual({
      kind: "failed",
      problem: "Too large. (request req_1)",
    });
  });

  it("has words for answers without any, such as those of a proxy", async () => {
    for (const status of [401, 413, 415, 502, 201]) {
      const outcome = await outcomeOf(answer(status, "<html>"), "a.png");
      expect(outcome.kind).toBe("failed");
    }
  });
});

it("finds the images among what was pasted", () => {
  const files = [
    new File(["x"], "a.png", { type: "image/png" }),
    new File(["x"], "a.txt", { type: "text/plain" }),
  ];
  expect(imageFiles({ files }).map(({ name }) => name)).toEqual(["a.png"]);
  expect(imageFiles(null)).toEqual([]);
});

import { describe, expect, it } from "vitest";
import { imageProblem, outcomeOf } from "./images";

const FILE = { name: "a.png", size: 10 };
const answer = (status: number, body: unknown) =>
  new Response(typeof body === "string" ? body : JSON.stringify(body), { status });

describe("imageProblem", () => {
  it("refuses what the server would refuse, by name", () => {
    const image = (size: number) => ({ name: "a.png", size });
    expect(imageProblem(image(10), [])).toBeNull();
    expect(imageProblem(image(20_000_001), [])).toContain("20 MB");
    expect(imageProblem(image(10), Array(19).fill(image(10)))).toBeNull();
    expect(imageProblem(image(10), Array(20).fill(image(10)))).toContain("20 images");
    expect(imageProblem(image(16_000_001), [image(16_000_000)])).toContain("32 MB");
  });
});

describe("outcomeOf", () => {
  it("takes the image that the server has stored", async () => {
    const stored = { id: "img_1", url: "/v1/images/img_1", mediaType: "image/png" };
    expect(await outcomeOf(answer(201, stored), FILE)).toEqual({
      attachment: { kind: "image", id: "img_1", url: "/v1/images/img_1", ...FILE },
    });
  });

  it("says what the server says, with the request id", async () => {
    const refused = { code: "PAYLOAD_TOO_LARGE", message: "Too large.", requestId: "req_1" };
    expect(await outcomeOf(answer(413, refused), FILE)).toEqual({
      problem: "Too large. (request req_1)",
    });
  });

  it("has words for answers without any, such as those of a proxy", async () => {
    for (const status of [401, 413, 415, 502, 201]) {
      const outcome = await outcomeOf(answer(status, "<html>"), FILE);
      expect(outcome).toHaveProperty("problem");
    }
  });
});

import { afterEach, expect, it, vi } from "vitest";
import { loadCode } from "./reachable";

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it("waits with code until the server can be reached", async () => {
  vi.useFakeTimers();
  let up = false;
  vi.stubGlobal("fetch", async () => {
    if (!up) throw new TypeError("Failed to fetch");
    return new Response("ok");
  });
  const reload = vi.fn();
  vi.stubGlobal("location", { reload });
  const load = vi.fn(async () => {
    if (!up) throw new TypeError("Failed to fetch dynamically imported module");
    return "the page";
  });
  const loaded = loadCode(load);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(load).toHaveBeenCalledTimes(1);
  up = true;
  await vi.advanceTimersByTimeAsync(3000);
  expect(await loaded).toBe("the page");
  expect(load).toHaveBeenCalledTimes(2);
  expect(reload).not.toHaveBeenCalled();
});

it("begins anew in a browser that doesn't ask again for what has failed", async () => {
  vi.useFakeTimers();
  let up = false;
  vi.stubGlobal("fetch", async () => {
    if (!up) throw new TypeError("Failed to fetch");
    return new Response("ok");
  });
  const reload = vi.fn();
  vi.stubGlobal("location", { reload });
  const ended = vi.fn();
  loadCode(() => Promise.reject(new TypeError("remembered"))).then(ended, ended);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(reload).not.toHaveBeenCalled();
  up = true;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(reload).toHaveBeenCalledTimes(1);
  expect(ended).not.toHaveBeenCalled();
});

it("fails where the server is there and the code is not", async () => {
  vi.stubGlobal("fetch", async () => new Response("ok"));
  await expect(loadCode(() => Promise.reject(new Error("gone")))).rejects.toThrow("gone");
});

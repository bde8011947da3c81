// @vitest-environment happy-dom

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { notifyState, switchNotifications } from "./notify";

beforeEach(() => localStorage.clear());
afterEach(() => vi.unstubAllGlobals());

function browser(shows: boolean) {
  const shown: string[] = [];
  class Notification {
    static permission = "granted";
    constructor(title: string) {
      if (!shows) throw new TypeError("Illegal constructor");
      shown.push(title);
    }
  }
  vi.stubGlobal("Notification", Notification);
  return { shown, Notification };
}

it("says that notifications are on by one of them", async () => {
  const { shown } = browser(true);
  expect(notifyState()).toBe("off");
  expect(await switchNotifications(true)).toBe("on");
  expect(shown).toEqual(["Notifications are on"]);
  expect(await switchNotifications(false)).toBe("off");
  expect(shown).toHaveLength(1);
});

it("remembers that a browser shows none", async () => {
  browser(false);
  expect(await switchNotifications(true)).toBe("unsupported");
  expect(notifyState()).toBe("unsupported");
});

it("leaves off what was refused", async () => {
  const { Notification, shown } = browser(true);
  Notification.permission = "denied";
  expect(await switchNotifications(true)).toBe("blocked");
  Notification.permission = "granted";
  expect([notifyState(), shown]).toEqual(["off", []]);
});

/** Where this browser keeps that its user wants notifications. */
const KEY = "ostler.notifications";
const UNSUPPORTED = "unsupported";

/** What can be said of notifications in this browser. `blocked`: its user has refused them to this site. */
export type NotifyState = "on" | "off" | "blocked" | "unsupported";

export function notifyState(): NotifyState {
  const chosen = stored();
  if (!("Notification" in window) || chosen === UNSUPPORTED) return "unsupported";
  if (Notification.permission === "denied") return "blocked";
  return Notification.permission === "granted" && chosen !== null ? "on" : "off";
}

/**
 * Asks the user of the browser where that is needed: only ever in answer to a click. The first notification says that they
 * are on: whether there are any is known from showing one, since browsers of phones have them for installed apps alone.
 */
export async function switchNotifications(on: boolean): Promise<NotifyState> {
  if (on && Notification.permission === "default") await Notification.requestPermission();
  if (!on) store(null);
  else if (Notification.permission === "granted") store(greet() ? "true" : UNSUPPORTED);
  return notifyState();
}

function greet(): boolean {
  try {
    new Notification("Notifications are on", {
      body: "You will see here what waits for you.",
      tag: KEY,
    });
    return true;
  } catch {
    return false;
  }
}

function store(value: string | null): void {
  try {
    if (value !== null) localStorage.setItem(KEY, value);
    else localStorage.removeItem(KEY);
  } catch {
    // Without storage there are no notifications.
  }
}

function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

/** Whether something is to be shown beside the page: its user wants that, and looks at something else. */
export function notifiesNow(): boolean {
  return document.visibilityState === "hidden" && notifyState() === "on";
}

/** Shows something beside the page. Tabs that show the same show it once; a click leads to this tab. */
export function notify(id: string, title: string, body: string, onOpen: () => void): void {
  try {
    const shown = new Notification(title, { body, tag: id });
    shown.onclick = () => {
      window.focus();
      shown.close();
      onOpen();
    };
  } catch {
    // It could when they were switched on. What waits stands in the dashboard all the same.
  }
}

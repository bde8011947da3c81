/** Where this browser keeps that its user wants notifications. */
const KEY = "ostler.notifications";

/** What can be said of notifications in this browser. `blocked`: its user has refused them to this site. */
export type NotifyState = "on" | "off" | "blocked" | "unsupported";

export function notifyState(): NotifyState {
  if (!("Notification" in window)) return "unsupported";
  if (Notification.permission === "denied") return "blocked";
  return Notification.permission === "granted" && stored() ? "on" : "off";
}

/** Asks the user of the browser where that is needed: only ever in answer to a click. */
export async function switchNotifications(on: boolean): Promise<NotifyState> {
  if (on && Notification.permission === "default") await Notification.requestPermission();
  try {
    if (on) localStorage.setItem(KEY, "true");
    else localStorage.removeItem(KEY);
  } catch {
    // Without storage there are no notifications.
  }
  return notifyState();
}

function stored(): boolean {
  try {
    return localStorage.getItem(KEY) !== null;
  } catch {
    return false;
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
    // Phones have notifications for apps alone.
  }
}

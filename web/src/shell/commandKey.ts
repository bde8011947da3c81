/** The name of the key that goes with shortcuts on this machine. */
export function commandKey(): string {
  return /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl";
}

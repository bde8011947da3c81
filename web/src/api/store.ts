/** Holds a snapshot and says when there is another one, as `useSyncExternalStore` wants it. */
export class Store<Snapshot> {
  readonly #listeners = new Set<() => void>();

  constructor(protected snapshot: Snapshot) {}

  readonly getSnapshot = (): Snapshot => this.snapshot;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  publish(snapshot: Snapshot): void {
    this.snapshot = snapshot;
    for (const listener of this.#listeners) listener();
  }
}

/**
 * What a component gives away, such as to the address, comes back to it a moment later, and it may be ahead of it then.
 * This tells that from what has changed otherwise.
 */
export class Echoes {
  #sent: string[] = [];

  sent(value: string): void {
    this.#sent.push(value);
  }

  /** Whether a value that has come is one's own. Those that were sent before it come no more. */
  isEcho(value: string): boolean {
    const at = this.#sent.lastIndexOf(value);
    this.#sent.splice(0, at + 1);
    return at >= 0;
  }
}

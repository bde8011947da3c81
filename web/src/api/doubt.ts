const listeners = new Set<() => void>();

/** Says that the viewer may not be who they were, or may do other things than before: a look at the server tells. */
export function doubtViewer(): void {
  for (const listener of listeners) listener();
}

/** Calls whenever there is a doubt, until what it gives is called. */
export function onDoubt(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

import { useCallback, useState } from "react";

/**
 * State that survives a reload. What can't be stored, because storage is full or switched off, still works until
 * then. Setting `empty` removes the entry.
 */
export function useStoredState<T>(storage: Storage, key: string, empty: T): [T, (next: T) => void] {
  const [state, setState] = useState<T>(() => read(storage, key) ?? empty);
  const set = useCallback(
    (next: T) => {
      setState(next);
      try {
        if (next === empty) storage.removeItem(key);
        else storage.setItem(key, JSON.stringify(next));
      } catch {
        // Nothing more can be done; the page goes on with what it has in memory.
      }
    },
    [storage, key, empty],
  );
  return [state, set];
}

function read<T>(storage: Storage, key: string): T | null {
  try {
    const stored = storage.getItem(key);
    return stored === null ? null : (JSON.parse(stored) as T);
  } catch {
    return null;
  }
}

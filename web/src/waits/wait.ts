import type { WaitFieldsFragment } from "@/gql/graphql";

export type Wait = WaitFieldsFragment;

/** What each kind of wait shows in its card. */
export interface WaitProps {
  wait: Wait;
  /** It was resolved here, and the server knows. */
  onResolved: () => void;
}
